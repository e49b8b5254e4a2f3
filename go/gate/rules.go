package main

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// allowed is what a protocol may import: what computes, and nothing that sees the machine or the time.
var allowed = []string{
	"bytes", "cmp", "container/heap", "container/list", "encoding/hex", "errors", "fmt", "iter", "maps", "math", "math/bits",
	vocabulary, "slices", "sort", "strconv", "strings", "unicode", "unicode/utf8",
}

const vocabulary = "protosim/step"

var (
	directive = regexp.MustCompile(`^(//(go:|line\b|export\b|extern\b|\s*\+build\b)|/\*line\b)`)
	inOrOut   = regexp.MustCompile(`^(Fp|P)rint|^Scan(f|ln)?$|^Fscan`)
)

const instead = "a step machine has no goroutines and no channels: what comes next is an event"

type gate struct {
	files    *token.FileSet
	refusals []verdict
}

func (g *gate) refuse(at token.Pos, format string, details ...any) {
	line := 0
	if at.IsValid() {
		line = g.files.PositionFor(at, false).Line
	}
	g.refusals = append(g.refusals, verdict{Stage: "tampered", Line: line, Rule: fmt.Sprintf(format, details...)})
}

func (g *gate) packageIs(file *ast.File, name string) {
	if file.Name.Name != name {
		g.refuse(file.Name.Pos(), "the package is called %s, and must be called %s", file.Name.Name, name)
	}
}

func (g *gate) directives(file *ast.File) {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if directive.MatchString(comment.Text) {
				g.refuse(comment.Pos(), "%.40q is a directive to the compiler, and there must be none", comment.Text)
			}
		}
	}
}

func (g *gate) imports(file *ast.File) {
	known := map[string]bool{}
	for _, spec := range file.Imports {
		path := pathOf(spec)
		if known[path] {
			g.refuse(spec.Pos(), "%q is imported twice", path)
		}
		known[path] = true
		if !slices.Contains(allowed, path) {
			g.refuse(spec.Pos(), "%q is imported; a protocol may import %s", path, strings.Join(allowed, ", "))
		}
		if spec.Name != nil && (spec.Name.Name == "." || spec.Name.Name == "_") {
			g.refuse(spec.Pos(), "%q is imported as %s: name what is used of it", path, spec.Name.Name)
		}
	}
}

// statements that no step machine needs.
func (g *gate) statements(file *ast.File) {
	ast.Inspect(file, func(node ast.Node) bool {
		switch node.(type) {
		case *ast.GoStmt, *ast.SelectStmt, *ast.ChanType:
			g.refuse(node.Pos(), instead)
		}
		return true
	})
}

func pathOf(spec *ast.ImportSpec) string {
	path, _ := strconv.Unquote(spec.Path.Value)
	return path
}

// uses of what an allowed package, or the language, has and a protocol must not touch: whatever the file calls it.
func (g *gate) uses(file *ast.File, uses map[*ast.Ident]types.Object) {
	ast.Inspect(file, func(node ast.Node) bool {
		if name, ok := node.(*ast.Ident); ok && uses[name] != nil {
			if rule := banned(uses[name]); rule != "" {
				g.refuse(name.Pos(), "%s", rule)
			}
		}
		return true
	})
}

// banned says why a protocol must not use it; "" if it may. What is not among these harms nobody but the candidate: an
// init, a variable of the package and a recover stay in its own worker, which holds one node of a run.
func banned(object types.Object) string {
	name, path := object.Name(), ""
	if object.Pkg() != nil {
		path = object.Pkg().Path()
	}
	_, builtin := object.(*types.Builtin)
	switch {
	case builtin && (name == "print" || name == "println"):
		return name + " writes to a file, and a protocol has none"
	case path == "fmt" && inOrOut.MatchString(name):
		return "fmt." + name + " reads or writes a file, and a protocol has none"
	case path == "iter" && (name == "Pull" || name == "Pull2"):
		return "iter." + name + " starts a goroutine; " + instead
	case path == vocabulary && (name == "NewNodes" || name == "Nodes"):
		return "step." + name + " is for a host, and a protocol has no nodes but itself"
	}
	return ""
}

// plain is the code's tokens on one line: where they stood is in no compiled form.
func plain(source []byte) string {
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile("", -1, len(source)), source, nil, 0)
	var out strings.Builder
	for {
		_, kind, text := s.Scan()
		switch {
		case kind == token.EOF:
			return out.String()
		case kind == token.SEMICOLON:
			text = ";"
		case !kind.IsLiteral():
			text = kind.String()
		}
		out.WriteString(text + " ")
	}
}
