"""Sources with bodies taken out."""

import pytest

from mutations.bodies import without_bodies
from protosim.errors import UserError

SOURCE = '''class Acceptor:
    def prepare(self, ballot: int) -> int:
        """Phase 1b."""
        if ballot > self.promised:  # §2.2
            self.promised = ballot
        return self.promised

    @property
    def idle(self) -> bool:
        return self.promised == 0
'''


def test_a_function_keeps_its_signature_and_docstring_and_nothing_else() -> None:
    assert without_bodies(SOURCE, ("prepare", "Acceptor.idle")) == '''class Acceptor:
    def prepare(self, ballot: int) -> int:
        """Phase 1b."""
        raise NotImplementedError

    @property
    def idle(self) -> bool:
        raise NotImplementedError
'''


def test_an_unknown_function_is_named() -> None:
    with pytest.raises(UserError, match="no prepares"):
        without_bodies(SOURCE, ("prepares",))
