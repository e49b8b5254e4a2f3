"""The Go references as source: laid out by gofmt, accepted by vet and the gate, with the checks of their twins."""

import ast
import re
import subprocess

import pytest

from protosim import paths
from protosim.adapters.go import Go
from protosim.api import ProtocolSpec
from protosim.program import source_of, spec_of
from protosim.score import golang
from protosim.score.gates import Refusal
from protosim.score.twins import in_go

CHECK = re.compile(r'^\s*step\.Check\("(\w+)", .*\),(\s*//.*)?$')


def run(tool: Go, program: str, *arguments: str) -> str:
    """What it says, or an error's text."""
    done = subprocess.run(
        [tool.program(program), *arguments],
        cwd=paths.data("go"),
        env=tool.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_all_go_is_laid_out_by_gofmt(tool: Go) -> None:
    assert run(tool, "gofmt", "-l", ".") == ""


def test_vet_finds_nothing(tool: Go) -> None:
    assert run(tool, "go", "vet", "./...") == ""


def test_the_tests_of_the_vocabulary_pass(tool: Go) -> None:
    assert run(tool, "go", "test", "./step/...").startswith("ok")


def test_the_vocabulary_passes_its_own_tests(tool: Go) -> None:
    assert run(tool, "go", "test", "-vet=off", "./step").startswith("ok ")


def test_the_module_needs_nothing_but_the_standard_library(tool: Go) -> None:
    assert (paths.data("go") / "go.mod").read_text("utf-8") == "module protosim\n\ngo 1.22\n"
    assert run(tool, "go", "list", "-m", "all") == "protosim\n"


@pytest.mark.parametrize("protocol", in_go())
def test_the_gate_lets_the_reference_through(tool: Go, protocol: str) -> None:
    with golang.workshop(protocol) as shop:
        assert not isinstance(shop.gate(golang.reference(protocol)), Refusal)


@pytest.mark.parametrize("protocol", in_go())
def test_a_check_is_one_line_of_one_name_and_the_names_are_those_of_the_twin(protocol: str) -> None:
    lines = golang.reference(protocol).splitlines()
    found = [match[1] for line in lines if (match := CHECK.match(line))]
    assert len(found) == sum("step.Check(" in line for line in lines)
    assert len(found) == len(set(found))
    assert set(found) == checks_in_python(protocol)


def checks_in_python(protocol: str) -> set[str]:
    """The keywords of `holds` in the protocol's file, and in those of what it extends."""
    spec = spec_of(protocol)
    assert isinstance(spec, ProtocolSpec)
    modules = dict.fromkeys(cls.__module__ for cls in spec.node.__mro__)
    extended = [name.removeprefix("protocols.") for name in modules if name.startswith("protocols.")]
    return {name for each in extended for name in _holds(source_of(each))}


def _holds(source: str) -> set[str]:
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return {str(k.arg) for call in calls if ast.unparse(call.func) == "holds" for k in call.keywords}
