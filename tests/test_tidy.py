"""Style is a test. Each rule says what to do instead, and is tried on an example that breaks it."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import attrs
import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("protosim", "protocols", "mutations", "schedulers", "faults")
PURE = ("protocols", "schedulers", "faults")  # events in, effects out; decisions are keyed
SCREEN = 50  # lines of a function
WIDTH = 120  # columns of a line

DRAWS = "draw from the seed with protosim.keys (a protocol draws nothing: set_timer takes a range)"
CLOCK = "use the node's own `now`, in integer microseconds"
EFFECTS = "ask for effects (send, sync, set_timer, ...) and let the kernel carry them out"
BANNED_EVERYWHERE = {"random": DRAWS, "secrets": DRAWS, "uuid": DRAWS}
BANNED_WHERE_PURE = {
    "time": CLOCK,
    "datetime": CLOCK,
    "asyncio": EFFECTS,
    "multiprocessing": EFFECTS,
    "os": EFFECTS,
    "socket": EFFECTS,
    "subprocess": EFFECTS,
    "threading": EFFECTS,
}
MAY_CALL_HASH_OR_ID = {  # (path, call) -> why no run can depend on it
    ("protosim/schedule.py", "id(owner)"): "names an object within one copy, and is never ordered",
    ("protosim/api.py", "id(self._effects)"): "the same",
    ("protosim/api.py", "id(self.disk)"): "the same",
    ("protosim/api.py", "id(self.disk.__dict__[log])"): "the same",
    ("protosim/api.py", "id(x)"): "the same",
}
VAGUE = {"util", "utils", "manager", "managers", "helper", "helpers"}


@attrs.frozen
class File:
    """A file by its path from the root, with forward slashes, and its text."""

    path: str
    text: str

    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    def at(self, line: int, sentence: str) -> str:
        return f"{self.path}:{line}: {sentence}."


# -- Rules over one Python file of the packages -------------------------------------------------------


def functions_fit_a_screen(file: File) -> Iterator[str]:
    for node in ast.walk(file.tree()):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > SCREEN:
                says = f"{node.name} has {lines} lines: split it until it fits a screen ({SCREEN})"
                yield file.at(node.lineno, says)


def lines_fit_the_page(file: File) -> Iterator[str]:
    for number, line in enumerate(file.text.splitlines(), 1):
        if len(line) > WIDTH:
            yield file.at(number, f"{len(line)} columns: break the line before column {WIDTH}")


def imports_are_deterministic(file: File) -> Iterator[str]:
    banned = dict(BANNED_EVERYWHERE)
    if file.path.startswith(PURE):
        banned |= BANNED_WHERE_PURE
    for line, module in _imports(file):
        if replacement := banned.get(module.partition(".")[0]):
            yield file.at(line, f"`{module}` makes a run depend on more than its seed: {replacement}")


def protocols_import_only_the_vocabulary(file: File) -> Iterator[str]:
    folder, _, name = file.path.partition("/")
    if folder != "protocols":
        return
    own = f"protocols.{name.partition('/')[0]}" if "/" in name else "protosim.api"
    for line, module in _imports(file):
        if module.partition(".")[0] not in PACKAGES or module == "protosim.api":
            continue
        extended = module.removeprefix("protocols.")
        words, own_words = extended.split("_"), Path(name).stem.split("_")
        if extended != module and (set(words) < set(own_words) or words[0] == own_words[0] != name):
            continue  # `multi_paxos` extends `paxos`, and `raft_membership` both `raft` and `raft_snapshots`
        if module.startswith("protocols._"):
            continue  # what several protocols share, and none of them is
        if module != own and not module.startswith(own + "."):
            says = f"a protocol does not import {module}: it is written in protosim.api, and what its name says"
            yield file.at(line, says)


def _imports(file: File) -> Iterator[tuple[int, str]]:
    """Each imported module with its line, relative ones resolved."""
    for node in ast.walk(file.tree()):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            package = Path(file.path).parts[: -node.level] if node.level else ()
            module = ".".join((*package, node.module) if node.module else package)
            if module not in PACKAGES:
                yield node.lineno, module
            else:  # what is imported from a whole package are its modules
                for alias in node.names:
                    yield node.lineno, f"{module}.{alias.name}"


def checks_are_one_line_and_one_name(file: File) -> Iterator[str]:
    named: dict[str, int] = {}
    for call in _calls(file, "holds"):
        free = call.lineno  # the first line that no earlier check of this call stands on
        for check in call.keywords:
            if check.arg is None:
                yield file.at(check.lineno, "a check is spelled out: no ** in holds(...)")
                continue
            if check.lineno < free:
                says = f"the check {check.arg} shares a line: one check, one line"
                yield file.at(check.lineno, says)
            if check.arg in named:
                first = named[check.arg]
                says = f"the check {check.arg} stands on line {first} too: one check, one name"
                yield file.at(check.lineno, says)
            named.setdefault(check.arg, check.lineno)
            free = (check.value.end_lineno or check.lineno) + 1


def nothing_depends_on_addresses(file: File) -> Iterator[str]:
    for name, instead in (("hash", "protosim.keys.label or mix"), ("id", "a name or a number")):
        for call in _calls(file, name):
            if (file.path, ast.unparse(call)) not in MAY_CALL_HASH_OR_ID:
                says = f"{name}() differs from process to process: use {instead}"
                yield file.at(call.lineno, says)


def sets_are_not_iterated(file: File) -> Iterator[str]:
    for node in ast.walk(file.tree()):
        if isinstance(node, ast.For | ast.comprehension):
            walked = node.iter
            called = isinstance(walked, ast.Call) and isinstance(walked.func, ast.Name)
            if isinstance(walked, ast.Set | ast.SetComp) or (
                called and ast.unparse(walked).startswith(("set(", "frozenset("))
            ):
                says = "the order of a set differs from process to process: walk sorted(...)"
                yield file.at(walked.lineno, says)


def _calls(file: File, name: str) -> Iterator[ast.Call]:
    """The calls of a bare name or of an attribute of `protosim.api` by that name, in order."""
    for node in ast.walk(file.tree()):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name | ast.Attribute) and (
                ast.unparse(function) in (name, f"api.{name}")
            ):
                yield node


def names_say_what_a_thing_is(file: File) -> Iterator[str]:
    path = Path(file.path)
    for name in (*path.parts[1:-1], path.stem):
        if name in sys.stdlib_module_names:
            yield file.at(1, f"'{name}' is a module of the standard library: name it otherwise")
    definitions = [
        (node.lineno, node.name)
        for node in ast.walk(file.tree())
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    for line, name in [(1, path.stem), *definitions]:
        words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
        if vague := [word for word in words if word.lower() in VAGUE]:
            yield file.at(line, f"{name}: '{vague[0]}' says nothing; name it after what it does")


# -- A rule over every text file ----------------------------------------------------------------------

HOSTS = r"pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|(?:deb|security)\.debian\.org"
WORDS = {
    r"(?i)\bissues?\s*#?\d": "the project speaks of itself: say what is true, not where it was asked",
    r"(?<![\w.])/(?:work|root)/|\.\./shared\b": "a path of one machine: write it from the root",
    HOSTS + r"|proxy\.golang\.org|crates\.io": "name the package and its client, not the host",
    r"(?i)\b(?:pip[\d.]*|pipx|uv\s+tool)\W+(?:install|run)\b[^\n`;&|]*?"
    r"(?<![\w./-])protosim(?![\w./-])": "by that name a stranger's package is installed: make setup",
    r"(?im)\buvx\s+protosim\b|\b(?:uv|poetry|pdm)\s+add\b[^\n`]*\bprotosim\b"
    r"|^\s*protosim(?:\[\w+\])?\s*[=<>~]=": "by that name a stranger's package is installed",
}


def words_stay_inside_the_project(file: File) -> Iterator[str]:
    for pattern, instead in WORDS.items():
        for found in re.finditer(pattern, file.text.replace("\\\n", "  ")):
            line = file.text.count("\n", 0, found.start()) + 1
            yield file.at(line, f"'{found[0].strip()}': {instead}")


# -- A rule over the tree -----------------------------------------------------------------------------


def empty_shells(texts: Mapping[str, str]) -> Iterator[str]:
    """Folders with nothing in them but an `__init__.py` that defines nothing."""
    folders: dict[str, list[str]] = {}
    for path in texts:
        for parent in Path(path).parents:
            folders.setdefault(parent.as_posix(), []).append(path)
    for folder, paths in folders.items():
        if paths == [f"{folder}/__init__.py"]:
            body = ast.parse(texts[paths[0]]).body
            if all(isinstance(statement, ast.Expr) for statement in body):
                yield f"{folder}/ is an empty shell: remove it until there is something in it."


# -- The rules bite -----------------------------------------------------------------------------------

Rule = Callable[[File], Iterator[str]]

# (rule, path, a text that breaks it, a text that keeps it)
EXAMPLES: list[tuple[Rule, str, str, str]] = [
    (
        functions_fit_a_screen,
        "protosim/x.py",
        "def f():\n" + "    a = 1\n" * 50,
        "def f():\n" + "    a = 1\n" * 49,
    ),
    (lines_fit_the_page, "protosim/x.py", "#" * 121, "#" * 120),
    (imports_are_deterministic, "mutations/x.py", "from random import Random", "import time"),
    (imports_are_deterministic, "faults/x.py", "import time", "from protosim import keys"),
    (imports_are_deterministic, "protocols/x.py", "import os.path", "import enum"),
    (
        protocols_import_only_the_vocabulary,
        "protocols/x.py",
        "from protosim.kernel import World",
        "import attrs\nfrom protosim import api\nfrom protosim.api import Node",
    ),
    (
        protocols_import_only_the_vocabulary,
        "protocols/x.py",
        "from . import y",
        "import protosim.api",
    ),
    (
        protocols_import_only_the_vocabulary,
        "protocols/multi_paxos.py",
        "from protocols.raft import Entry",
        "from protocols.paxos import Ballot",
    ),
    (
        protocols_import_only_the_vocabulary,
        "protocols/big/x.py",
        "from protocols.raft import Log",
        "from protocols.big.messages import Vote\nfrom .messages import Ack",
    ),
    (
        protocols_import_only_the_vocabulary,
        "protocols/x.py",
        "from protocols.accounts import home",
        "from protocols._accounts import home",
    ),
    (
        checks_are_one_line_and_one_name,
        "protocols/x.py",
        "holds(a=1, b=2)",
        "holds(\n    a=f(\n        1,\n    ),\n    b=2,\n)\nif holds(c=3):\n    pass",
    ),
    (
        checks_are_one_line_and_one_name,
        "protocols/x.py",
        "holds(a=1)\napi.holds(a=1)",
        "holds(a=1)\nother(a=1)",
    ),
    (checks_are_one_line_and_one_name, "protocols/x.py", "holds(**checks)", "f(**checks)"),
    (nothing_depends_on_addresses, "protosim/x.py", "x = hash('n1')", "x = label('n1')"),
    (nothing_depends_on_addresses, "faults/x.py", "seen.add(id(node))", "seen.add(node.id())"),
    (sets_are_not_iterated, "protosim/x.py", "for n in set(a):\n    pass", "for n in a:\n    pass"),
    (sets_are_not_iterated, "faults/x.py", "x = [n for n in {a, b}]", "x = sorted({a, b})"),
    (names_say_what_a_thing_is, "schedulers/random.py", "", ""),
    (names_say_what_a_thing_is, "protosim/queue/x.py", "", ""),
    (names_say_what_a_thing_is, "protosim/disk_utils.py", "", ""),
    (names_say_what_a_thing_is, "protosim/x.py", "class RunManager: ...", "class Runs: ..."),
    (names_say_what_a_thing_is, "protosim/x.py", "def helper(): ...", "def manage(): ..."),
]


@pytest.mark.parametrize(("rule", "path", "bad", "good"), EXAMPLES)
def test_a_rule_catches_the_example_that_breaks_it(
    rule: Rule, path: str, bad: str, good: str
) -> None:
    assert list(rule(File(path, bad)))
    if good:
        assert not list(rule(File(path, good)))


NAME = "protosim"  # apart from its installer, so that this file keeps the rule
FORBIDDEN_WORDS = [
    f"see {'issue'} #2",
    f"({'Issue'} 12)",
    f"cd {'/'}work/main",
    f"{'/'}root/x",
    f"as in {'..'}/shared/design.md",
    f"pip install {NAME}",
    f"pip3 install -U \\\n  {NAME}[dev]",
    f'["pip", "install", "{NAME}"]',
    f"pipx run {NAME}",
    f"uvx {NAME} demo",
    f"uv add {NAME}",
    f"attrs\n{NAME}==0.1.0\n",
    f"https://{'pypi'}.org/simple",
    f"https://registry.{'npmjs'}.org",
]
ALLOWED_WORDS = [
    "an issue with 2 nodes",
    "network/", "homework/x", "a/root/b",
    f"`pip install -e .` makes the {NAME} command",
    f"pip install dist/{NAME}-0.1.0-py3-none-any.whl",
    f"    # via {NAME} (pyproject.toml)",
]  # fmt: skip


@pytest.mark.parametrize("text", FORBIDDEN_WORDS)
def test_forbidden_words_are_caught(text: str) -> None:
    assert list(words_stay_inside_the_project(File("README.md", text)))


@pytest.mark.parametrize("text", ALLOWED_WORDS)
def test_harmless_words_are_not(text: str) -> None:
    assert not list(words_stay_inside_the_project(File("README.md", text)))


def test_an_empty_shell_is_caught() -> None:
    shell = {"faults/__init__.py": "", "faults/byzantine/__init__.py": '"""Soon."""'}
    assert [found.partition(" ")[0] for found in empty_shells(shell)] == ["faults/byzantine/"]
    assert not list(empty_shells(shell | {"faults/byzantine/silence.py": ""}))
    assert not list(empty_shells({"faults/__init__.py": "from x import y"}))


# -- The project keeps them ---------------------------------------------------------------------------


def _package_files() -> list[File]:
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return [File(path.relative_to(ROOT).as_posix(), path.read_text("utf-8")) for path in paths]


def _text_files() -> list[File]:
    """Every file that is tracked or about to be, as far as it is text."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=60).stdout
    files: list[File] = []
    for name in sorted(listed.decode().split("\0")):
        path = ROOT / name
        if name and path.is_file() and b"\0" not in (raw := path.read_bytes()):
            files.append(File(name, raw.decode("utf-8", "replace")))
    return files


@pytest.mark.parametrize("rule", list(dict.fromkeys(rule for rule, *_ in EXAMPLES)))
def test_the_packages_keep_the_rule(rule: Rule) -> None:
    files = _package_files()
    assert files
    broken = [sentence for file in files for sentence in rule(file)]
    assert not broken, "\n" + "\n".join(broken)


def test_every_text_file_speaks_of_the_project_alone() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("only a git clone knows which files are the project's")
    broken = [s for file in _text_files() for s in words_stay_inside_the_project(file)]
    assert not broken, "\n" + "\n".join(broken)


def test_no_folder_is_an_empty_shell() -> None:
    texts = {file.path: file.text for file in _package_files()}
    assert not list(empty_shells(texts))


def test_every_exception_is_still_used() -> None:
    calls = {
        (file.path, ast.unparse(call))
        for file in _package_files()
        for name in ("hash", "id")
        for call in _calls(file, name)
    }
    assert MAY_CALL_HASH_OR_ID.keys() <= calls
