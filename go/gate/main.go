// Command gate says whether a candidate may take the place of a reference's one file.
//
//	gate [-module FOLDER] REFERENCE CANDIDATE
//
// It prints one JSON object: {"stage", "line", "rule"} where the candidate is refused, else {"plain"}: the candidate's
// code without comments and layout. It compiles neither and runs neither. What they import it knows from `go list`, in
// the module's folder: the one that it stands in, if none is named.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"slices"
)

type verdict struct {
	Stage string `json:"stage,omitempty"`
	Line  int    `json:"line,omitempty"` // 0: the whole file
	Rule  string `json:"rule,omitempty"`
	Plain string `json:"plain,omitempty"`
}

func main() {
	module := flag.String("module", ".", "the folder of the module that the reference belongs to")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "gate [-module FOLDER] REFERENCE CANDIDATE")
		os.Exit(2)
	}
	reference, err := os.ReadFile(flag.Arg(0))
	candidate, err2 := os.ReadFile(flag.Arg(1))
	if err := cmp.Or(err, err2); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(judge(*module, reference, candidate))
}

// judge by what stands in the file, then by what it means. Where a candidate does not keep to the rules, it does not
// matter whether it compiles.
func judge(module string, reference, candidate []byte) verdict {
	g := gate{files: token.NewFileSet()}
	trusted, wrong := g.parse("reference", reference)
	if trusted == nil {
		return verdict{Stage: "infra_error", Line: wrong.Line, Rule: wrong.Rule}
	}
	theirs, wrong := g.parse("candidate", candidate)
	if theirs == nil {
		return wrong
	}
	g.packageIs(theirs, trusted.Name.Name)
	g.directives(theirs)
	g.imports(theirs)
	g.statements(theirs)
	if len(g.refusals) > 0 {
		return g.first()
	}
	imported, err := list(module, trusted, theirs)
	if err != nil {
		return verdict{Stage: "infra_error", Rule: err.Error()}
	}
	ours := imported.check(g.files, trusted)
	if len(ours.errors) > 0 {
		return ours.complaint("infra_error")
	}
	found := imported.check(g.files, theirs)
	g.uses(theirs, found.uses)
	g.interfaces(offersOf(found.types), offersOf(ours.types), len(found.errors) == 0)
	switch {
	case len(g.refusals) > 0:
		return g.first()
	case len(found.errors) > 0:
		return found.complaint("compile_error")
	}
	return verdict{Plain: plain(candidate)}
}

// parse a source. Where it cannot be parsed there is no file, but what is wrong with it.
func (g *gate) parse(name string, source []byte) (*ast.File, verdict) {
	file, err := parser.ParseFile(g.files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err == nil {
		return file, verdict{}
	}
	first := scanner.Error{Msg: err.Error()}
	if list := (scanner.ErrorList)(nil); errors.As(err, &list) {
		first = *list[0]
	}
	return nil, verdict{Stage: "compile_error", Line: first.Pos.Line, Rule: first.Msg}
}

// first of the refusals, as they stand in the file.
func (g *gate) first() verdict {
	return slices.MinFunc(g.refusals, func(a, b verdict) int { return cmp.Compare(a.Line, b.Line) })
}
