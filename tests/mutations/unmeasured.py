"""Protocols whose kill tables are not complete yet. A name goes when `protosim kills NAME` has filled both of them."""

UNMEASURED: tuple[str, ...] = ()
