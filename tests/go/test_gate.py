"""What the gate refuses, by its line and its rule; and what it lets through."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from protosim.adapters.go import Go
from protosim.score import golang
from protosim.score.gates import Refusal
from protosim.score.golang import Workshop
from tests.go.conftest import Judge

END = "\nfunc more() {}\n"

# what -> (its place in the reference, what stands there instead, stage, the line's text, words of the sentence)
REFUSED = {
    "a package of another name": ("package raft", "package graft", "tampered", "package graft", "must be called raft"),
    "no Go at all": ("package raft", "PROTOCOL = 3", "compile_error", "PROTOCOL = 3", "expected 'package'"),
    "an import that sees the machine": ('"cmp"', '"cmp"\n\t"os"', "tampered", '"os"', "may import bytes, cmp"),
    "an import under another name": ('"cmp"', '"cmp"\n\tx "syscall"', "tampered", "syscall", "may import"),
    "the clock": ('"cmp"', '"cmp"\n\t"time"', "tampered", '"time"', "may import"),
    "reflection": ('"cmp"', '"cmp"\n\t"reflect"', "tampered", '"reflect"', "may import"),
    "unsafe": ('"cmp"', '"cmp"\n\t"unsafe"', "tampered", '"unsafe"', "may import"),
    "cgo": ('import (\n', 'import "C"\nimport (\n', "tampered", '"C"', "may import"),
    "the host": ('"cmp"', '"cmp"\n\t"protosim/host"', "tampered", "protosim/host", "may import"),
    "an import for its side effects": ('"cmp"', '"cmp"\n\t_ "strings"', "tampered", "strings", "imported as _"),
    "an import of all names": ('"cmp"', '"cmp"\n\t. "strings"', "tampered", "strings", "imported as ."),
    "an embedded file": (END, "\n//go:embed raft.go\nvar text string\n", "tampered", "go:embed", "directive"),
    "a linked name": (END, "\n//go:linkname f runtime.f\nfunc f()\n", "tampered", "linkname", "directive"),
    "a build constraint": ("// Package raft", "//go:build x\n\n// Package raft", "tampered", "go:build", "directive"),
    "an old build constraint": ("// Package raft", "// +build x\n\n// Package raft", "tampered", "+build", "directive"),
    "a line of another file": (END, "\n//line /etc/passwd:1\nvar x int\n", "tampered", "passwd", "directive"),
    "a line within a line": (END, "\nvar x /*line a.go:1:1*/ int\n", "tampered", "a.go", "directive"),
    "a goroutine": (END, "\nfunc f() {\n\tgo f()\n}\n", "tampered", "go f()", "no goroutines"),
    "a channel": (END, "\nvar c chan int\n", "tampered", "chan int", "no channels"),
    "a select": (END, "\nfunc f() {\n\tselect {}\n}\n", "tampered", "select", "no channels"),
    "an import under two names": ('"cmp"', '"cmp"\n\tc "cmp"', "tampered", 'c "cmp"', "imported twice"),
    "an import behind the code": (END, '\nimport "fmt"\n', "compile_error", 'import "fmt"', "imports must appear"),
    "a message with more": ("\tGranted bool\n", "\tGranted bool\n\tWhy int\n", "tampered", "type Vote", "Vote is"),
    "a message with another type": ("\tGranted bool\n", "\tGranted int\n", "tampered", "type Vote", "Vote is"),
    "a disk without a tag": (' `wire:"nullable"`', "", "tampered", "type Disk", "Disk is another"),
    "a switch under another name": ("Batch int ", "Bulk int ", "tampered", "type Switches", "Switches is another"),
    "a message less": ("type Vote struct", "type vote struct", "tampered", "", "Vote is gone"),
    "no entry point": ("var Protocol =", "var protocol =", "tampered", "", "Protocol is gone"),
    "a node without a start": ("func (r *Raft) Start", "func (r *Raft) start", "tampered", "", "Raft.Start is gone"),
    "what does not compile": (END, "\nfunc f() { no() }\n", "compile_error", "no()", "undefined: no"),
    "a body less": (END, "\nfunc f()\n", "compile_error", "func f()", "missing function body"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_a_candidate_is_refused_for(judge: Judge, reference: str, what: str) -> None:
    before, after, stage, at, words = REFUSED[what]
    source = reference + END
    assert source.count(before) == 1
    source = source.replace(before, after)
    result = judge(source)
    assert (result.stage, result.score) == (stage, 0)
    assert words in result.sentence
    if at:
        lines = [n for n, line in enumerate(source.splitlines(), 1) if at in line]
        assert result.sentence.startswith(tuple(f"line {n}: " for n in lines))


# what -> (edits of the reference, stage, the line's text, words of the sentence): the text is right, or nearly; what it
# means is not.
MEANT = {
    "a bool that is another": ([(END, "\ntype bool int\n")], "tampered", "Vote struct", "Vote is another"),
    "an int that is another": ([(END, "\ntype int int32\n")], "tampered", "Term  int", "Term is another"),
    "a type of ours that is another": (
        [("\tVotedFor step.NodeID", "\tVotedFor NodeID"), (END, "\ntype NodeID string\n")],
        "tampered", "Disk struct", "Disk is another",
    ),
    "a term that is an alias": ([("\tTerm  int", "\tTerm = int")], "tampered", "Term = int", "Term is another"),
    "a message that is an alias": (
        [("type Vote struct", "type Vote = vote\n\ntype vote struct")], "tampered", "Vote = vote", "Vote is another"
    ),
    "a type of all types": (
        [("type Appended struct", "type Appended[T any] struct")], "tampered", "Appended[T any]", "Appended is another"
    ),
    "fields in another order": (
        [("\tTerm    Term\n\tGranted bool\n", "\tGranted bool\n\tTerm    Term\n")], "tampered", "Vote struct", "Vote is"
    ),
    "a field of what it embeds": (
        [("\tTerm    Term\n\tGranted bool\n", "\tTerm Term\n\tyes\n"), (END, "\ntype yes struct{ Granted bool }\n")],
        "tampered", "Vote struct", "Vote is another",
    ),
    "a tag that the compiler would not mind": (
        [('`wire:"nullable"`', '`wire:"nullable" `')], "tampered", "Disk struct", "Disk is another"
    ),
    "a tag that speaks of an invalid type": (
        [('`wire:"nullable"`', '"\\x00 invalid type"')], "tampered", "Disk struct", "Disk is another"
    ),
    "a log of other entries": (
        [("\tLog      step.Log[Entry]", "\tLog      step.Log[entry]"), (END, "\ntype entry struct{ Term Term }\n")],
        "tampered", "Disk struct", "Disk is another",
    ),
    "a node with another disk": (
        [("step.Node[Disk, Switches]", "step.Node[disk, Switches]"), (END, "\ntype disk Disk\n")],
        "tampered", "Raft struct", "Raft is another",
    ),
    "a node that embeds another's fields": (
        [("\trole        role\n", "\trole role\n\tclock\n"), (END, "\ntype clock struct{ Disk Switches }\n")],
        "tampered", "Raft struct", "Raft is another",
    ),
    "a disk before its disk": (
        [("\tstep.Node[Disk, Switches]\n", "\tstep.Node[Disk, Switches]\n\tDisk Switches\n")],
        "tampered", "Raft struct", "Raft is another",
    ),
    "an entry point of another type": (
        [("var Protocol = step.Protocol{", "type made step.Protocol\n\nvar Protocol = made{")],
        "tampered", "var Protocol", "Protocol is another",
    ),
    "an entry point that is a function": (
        [("var Protocol = step.Protocol{", "func Protocol() {}\n\nvar protocol = step.Protocol{")],
        "tampered", "func Protocol", "Protocol is another",
    ),
    "a method for other arguments": (
        [("func (r *Raft) Timeout(t step.Timer)", "func (r *Raft) Timeout(t Index)")],
        "tampered", "Timeout(t Index)", "Raft.Timeout is another",
    ),
    "an effect of another kind": (
        [(END, "\nfunc (r *Raft) Sync(times int) {}\n")], "tampered", "Sync(times int)", "Raft.Sync is another"
    ),
    "what is said under a false name": (
        [('"cmp"', '"cmp"\n\tstrings "fmt"'), (END, "\nfunc init() { strings.Println() }\n")],
        "tampered", "strings.Println", "fmt.Println reads or writes a file",
    ),
    "a function that speaks, as a value": (
        [('"cmp"', '"cmp"\n\t"fmt"'), (END, "\nvar say = fmt.Printf\n\nfunc init() { say(`10 passed`) }\n")],
        "tampered", "var say", "fmt.Printf reads or writes a file",
    ),
    "a function that speaks, in a list": (
        [('"cmp"', '"cmp"\n\t"fmt"'), (END, "\nvar all = []any{fmt.Sprint, fmt.Scan}\n")],
        "tampered", "var all", "fmt.Scan reads or writes a file",
    ),
    "a word of the language that speaks": (
        [(END, '\nfunc init() { println("10 passed") }\n')], "tampered", "println(", "println writes to a file"
    ),
    "a word of the language that speaks at the end": (
        [(END, "\nfunc init() {\n\tdefer print(1)\n}\n")], "tampered", "defer print", "print writes to a file"
    ),
    "a goroutine by another name": (
        [('"cmp"', '"cmp"\n\t"iter"'), (END, "\nvar next, stop = iter.Pull[int](nil)\n")],
        "tampered", "iter.Pull", "iter.Pull starts a goroutine",
    ),
    "nodes of its own": (
        [(END, "\nvar nodes, _ = step.NewNodes(Protocol)\n")],
        "tampered", "step.NewNodes", "step.NewNodes is for a host",
    ),
    "nodes of its own, without their maker": (
        [('"protosim/step"', 's "protosim/step"'), ("step.", "s."), (END, "\nvar nodes s.Nodes\n")],
        "tampered", "var nodes", "step.Nodes is for a host",
    ),
    "types that double and double": (
        [("\tGranted bool\n", "\tGranted t20\n"),
         (END, "\ntype t0 = []bool\n" + "".join(f"type t{n + 1} = struct{{ A, B t{n} }}\n" for n in range(20)))],
        "tampered", "Vote struct", "Vote is another",
    ),
    "an import that is not used": ([('"cmp"', '"cmp"\n\t"math"')], "compile_error", '"math"', "not used"),
    "a name that is not used": (
        [(END, "\nfunc f() {\n\tx := 1\n}\n")], "compile_error", "x := 1", "declared and not used: x"
    ),
    "two things of one name": (
        [(END, "\nfunc f() {}\n\nfunc f(int) {}\n")], "compile_error", "func f(int)", "f redeclared"
    ),
    "a field of a type that there is not": (
        [("\tGranted bool\n", "\tGranted truth\n")], "compile_error", "Granted truth", "undefined: truth"
    ),
    "what a later Go may do": (
        [(END, "\nfunc f() {\n\tfor range f2 {\n\t}\n}\n\nfunc f2(func() bool) {}\n")],
        "compile_error", "for range f2", "requires go1.23 or later",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def gate(tool: Go) -> Iterator[Workshop]:
    """A workshop in which nothing is compiled, so that many tests may share it."""
    with golang.workshop("raft") as made:
        yield made


def edited(source: str, edits: list[tuple[str, str]]) -> str:
    for before, after in edits:
        assert before in source
        source = source.replace(before, after)
    return source


@pytest.mark.parametrize("what", MEANT)
def test_a_candidate_is_refused_for_what_it_means_by(gate: Workshop, reference: str, what: str) -> None:
    edits, stage, at, words = MEANT[what]
    source = edited(reference + END, edits)
    refusal = gate.gate(source)
    assert isinstance(refusal, Refusal)
    assert (refusal.stage, words in refusal.sentence) == (stage, True), refusal.sentence
    lines = [n for n, line in enumerate(source.splitlines(), 1) if at in line]
    assert refusal.sentence.startswith(tuple(f"line {n}: " for n in lines)), refusal.sentence


HONEST = {
    "our package under another name": [("step.", "s."), ('"protosim/step"', 's "protosim/step"')],
    "names of its own for our types": [
        ("Receive(src step.NodeID, m step.Value)", "Receive(src id, m any)"), (END, "\ntype id = step.NodeID\n"),
    ],
    "an alias of the type of a field": [("\tGranted bool\n", "\tGranted yes\n"), (END, "\ntype yes = bool\n")],
    "a bool under a text's name": [("\tGranted bool\n", "\tGranted string\n"), (END, "\ntype string = bool\n")],
    "an interface that is spelled out": [("\tCommand step.Value", "\tCommand interface{}")],
    "fields on one line": [
        ("\tTerm         Term\n\tLastLogIndex Index\n\tLastLogTerm  Term\n",
         "\tTerm Term; LastLogIndex Index; LastLogTerm Term\n"),
    ],
    "a tag in quotes": [('`wire:"nullable"`', '"wire:\\"nullable\\""')],
    "a type of its own for a group": [("type (\n\tTerm  int\n\tIndex int", "type Term int\n\ntype (\n\tIndex int")],
    "an entry point whose type is said": [("var Protocol = ", "var Protocol step.Protocol = ")],
    "a receiver without a name": [(END, "\nfunc (*Raft) Size() int { return 1 }\n")],
    "a method of what it embeds": [
        ("func (r *Raft) Timeout(", "func (r *Raft) later("),
        ("\trole        role\n", "\trole role\n\tclock\n"),
        (END, "\ntype clock struct{ n int }\n\nfunc (clock) Timeout(step.Timer) {}\n"),
    ],
    "a package's name for a variable of its own": [
        (END, "\ntype printer struct{}\n\nfunc (printer) Println(...any) {}\n\nvar fmt printer\n\n"
         "func f() { fmt.Println(1) }\n"),
    ],
    "a word of the language for a function of its own": [
        (END, "\nfunc println(...any) {}\n\nfunc f() { println(1) }\n"),
    ],
    "a method called like what it must not use": [
        (END, "\ntype shelf struct{}\n\nfunc (shelf) Pull() {}\n\nfunc (shelf) NewNodes() { shelf{}.Pull() }\n"),
    ],
    "texts made by a function as a value": [
        ('"cmp"', '"cmp"\n\t"fmt"'), (END, '\nvar text = fmt.Sprintf\n\nvar one = text("%d", 1)\n'),
    ],
    "an init, a variable of the package and a recover": [
        (END, "\nvar seen = map[Term]int{}\n\nfunc init() {\n\tdefer func() { _ = recover() }()\n\tseen[1] = 2\n}\n"),
    ],
    "functions of all types": [
        ('"cmp"', '"cmp"\n\t"maps"\n\t"slices"'),
        (END, "\nfunc keys[K cmp.Ordered, V any](m map[K]V) []K {\n\tfound := slices.Collect(maps.Keys(m))\n"
         "\tslices.Sort(found)\n\treturn found\n}\n\nvar none = keys(map[Term]bool{})\n"),
    ],
    "a ring of types": [(END, "\ntype Ring struct{ Next *ring }\n\ntype ring struct{ Next *Ring }\n")],
}  # fmt: skip


@pytest.mark.parametrize("what", HONEST)
def test_a_candidate_may_spell(gate: Workshop, reference: str, what: str) -> None:
    found = gate.gate(edited(reference + END, HONEST[what]))
    assert not isinstance(found, Refusal), found.sentence


@pytest.mark.parametrize("printed", ["Println(1)", "Print(1)", "Fprintf(nil, text)", "Scanln()", "Fscan(nil)"])
@pytest.mark.parametrize(("name", "imported"), [("fmt", '"fmt"'), ("f", 'f "fmt"')])
def test_a_candidate_prints_nothing(gate: Workshop, reference: str, name: str, imported: str, printed: str) -> None:
    source = reference.replace('"cmp"', f'"cmp"\n\t{imported}')
    refusal = gate.gate(f"{source}\nfunc init() {{ {name}.{printed} }}\n")
    assert isinstance(refusal, Refusal)
    assert refusal.stage == "tampered"
    assert refusal.sentence.endswith("reads or writes a file, and a protocol has none")


ALLOWED = {
    "a function more": END,
    "a type more": "\ntype More struct{ x int }\n\nfunc (m More) Size() int { return m.x }\n",
    "a comment that only looks like a directive": "\n// go:embed is what it does not say.\nvar x int\n",
    "a text that looks like a directive": "\nconst text = `\n//go:embed x\n`\n",
}


@pytest.mark.parametrize("more", ALLOWED.values(), ids=list(ALLOWED))
def test_a_candidate_may_have(gate: Workshop, reference: str, more: str) -> None:
    assert not isinstance(gate.gate(reference + more), Refusal)


def test_a_candidate_may_format_a_text_and_keep_more_in_its_node(shop: Workshop, reference: str) -> None:
    source = reference.replace('"cmp"', '"cmp"\n\t"fmt"')
    source = source.replace("\trole        role\n", "\trole        role\n\tterms       []Term\n")
    assert not isinstance(shop.gate(source + '\nvar text = fmt.Sprintf("%d", 3)\n'), Refusal)


def test_a_gate_that_finds_no_go_is_no_fault_of_the_candidate(gate: Workshop, reference: str, tmp_path: Path) -> None:
    assert not isinstance(gate.gate(reference), Refusal)  # its program is there
    lost = attrs.evolve(gate, go=attrs.evolve(gate.go, root=tmp_path))
    with pytest.raises(OSError, match="the reference cannot be compiled: go list: "):
        lost.gate(reference)


def test_the_code_without_layout_compiles_and_is_the_same_for_every_layout(shop: Workshop, reference: str) -> None:
    plain = shop.gate(reference)
    assert isinstance(plain, str)
    assert "\n" not in plain
    assert shop.gate(reference.replace("\n", "\n\n").replace(" // ", " /* */ // ")) == plain
    assert not isinstance(shop.compiled(plain, shop.folder / "plain"), Refusal)


def test_nothing_of_the_candidate_runs_while_it_is_compiled(shop: Workshop, reference: str) -> None:
    mark = shop.folder / "mark"
    hostile = reference.replace('"cmp"', '"cmp"\n\t"os"') + f'\nvar _ = os.WriteFile("{mark}", nil, 0o600)\n'
    assert not isinstance(shop.compiled(hostile, shop.run / "worker"), Refusal)
    assert not mark.exists()
    subprocess.run([shop.run / "worker"], input=b"", check=False)  # it bites
    assert mark.exists()
