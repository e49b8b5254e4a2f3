"""What the gate refuses, by its line and its rule; and what it lets through."""

import subprocess

import pytest

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


@pytest.mark.parametrize("printed", ["Println(1)", "Print(1)", "Fprintf(nil, text)", "Scanln()", "Fscan(nil)"])
@pytest.mark.parametrize(("name", "imported"), [("fmt", '"fmt"'), ("f", 'f "fmt"')])
def test_a_candidate_prints_nothing(shop: Workshop, reference: str, name: str, imported: str, printed: str) -> None:
    source = reference.replace('"cmp"', f'"cmp"\n\t{imported}')
    refusal = shop.gate(f"{source}\nfunc init() {{ {name}.{printed} }}\n")
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
def test_a_candidate_may_have(shop: Workshop, reference: str, more: str) -> None:
    assert not isinstance(shop.gate(reference + more), Refusal)


def test_a_candidate_may_format_a_text_and_keep_more_in_its_node(shop: Workshop, reference: str) -> None:
    source = reference.replace('"cmp"', '"cmp"\n\t"fmt"')
    source = source.replace("\trole        role\n", "\trole        role\n\tterms       []Term\n")
    assert not isinstance(shop.gate(source + '\nvar text = fmt.Sprintf("%d", 3)\n'), Refusal)


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
