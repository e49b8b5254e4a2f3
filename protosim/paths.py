"""Where the data that commands read is found, in a clone and in an installed wheel alike."""

from pathlib import Path

from protosim.errors import UserError

_PACKAGE = Path(__file__).resolve().parent


def data(name: str) -> Path:
    """Return the data folder `name` (such as "tasks"), or raise UserError where it is missing.

    The wheel carries the folders of the clone's root inside the package, so that they cannot
    collide with another project's: they are looked for there first.
    """
    places = (_PACKAGE / "_data" / name, _PACKAGE.parent / name)
    for place in places:
        if place.is_dir():
            return place
    looked = " nor ".join(str(place) for place in places)
    raise UserError(
        f"The data folder '{name}' is neither at {looked}: "
        "this copy of protosim is incomplete, install it again from a clone."
    )
