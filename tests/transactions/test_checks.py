"""In the stories of transactions and of Percolator each check is once the only reason to refuse."""

import ast
import re
from pathlib import Path

import pytest

from protosim.program import reference

STORIES = Path(__file__).parent.parent


@pytest.mark.parametrize("protocol", ["transactions", "percolator"])
def test_each_check_is_once_the_only_reason_to_refuse(protocol: str) -> None:
    told = "\n".join(path.read_text("utf-8") for path in (STORIES / protocol).glob("*.txt"))
    alone = set(re.findall(r"^  n\d refuses \w+: (\w+)$", told, re.MULTILINE))
    calls = [node for node in ast.walk(ast.parse(reference(protocol).source)) if isinstance(node, ast.Call)]
    checks = {check.arg for call in calls if ast.unparse(call.func) == "holds" for check in call.keywords}
    assert alone == checks
