// Command gate says whether a candidate may take the place of a reference's one file.
//
//	gate REFERENCE CANDIDATE
//
// It prints one JSON object: {"stage", "line", "rule"} where the candidate is refused, else {"plain"}: the candidate's
// code without comments and layout. It compiles nothing and runs nothing.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/scanner"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Allowed is what a protocol may import: what computes, and nothing that sees the machine or the time.
var allowed = []string{
	"bytes", "cmp", "container/heap", "container/list", "encoding/hex", "errors", "fmt", "iter", "maps", "math", "math/bits",
	"protosim/step", "slices", "sort", "strconv", "strings", "unicode", "unicode/utf8",
}

var (
	directive = regexp.MustCompile(`^(//(go:|line\b|export\b|extern\b|\s*\+build\b)|/\*line\b)`)
	inOrOut   = regexp.MustCompile(`^(Fp|P)rint|^(Fs|S)can(f|ln)?$|^Fscan`)
)

type verdict struct {
	Stage string `json:"stage,omitempty"`
	Line  int    `json:"line,omitempty"` // 0: the whole file
	Rule  string `json:"rule,omitempty"`
	Plain string `json:"plain,omitempty"`
}

func main() {
	reference, err := os.ReadFile(os.Args[1])
	candidate, err2 := os.ReadFile(os.Args[2])
	if err := cmp.Or(err, err2); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(judge(reference, candidate))
}

func judge(reference, candidate []byte) verdict {
	files := token.NewFileSet()
	trusted, err := parser.ParseFile(files, "reference", reference, parser.SkipObjectResolution)
	if err != nil {
		return verdict{Stage: "infra_error", Rule: err.Error()}
	}
	theirs, err := parser.ParseFile(files, "candidate", candidate, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		first := scanner.Error{Msg: err.Error()}
		if list := (scanner.ErrorList)(nil); errors.As(err, &list) {
			first = *list[0]
		}
		return verdict{Stage: "compile_error", Line: first.Pos.Line, Rule: first.Msg}
	}
	g := gate{files: files}
	g.packageIs(theirs, trusted.Name.Name)
	g.directives(theirs)
	g.imports(theirs)
	g.statements(theirs)
	g.interfaces(exported(files, theirs), exported(files, trusted))
	if len(g.refusals) > 0 {
		return slices.MinFunc(g.refusals, func(a, b verdict) int { return cmp.Compare(a.Line, b.Line) })
	}
	return verdict{Plain: plain(candidate)}
}

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
	formatting := nameOf(file, "fmt")
	const instead = "a step machine has no goroutines and no channels: what comes next is an event"
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt, *ast.SelectStmt, *ast.ChanType:
			g.refuse(node.Pos(), instead)
		case *ast.SelectorExpr:
			if of, ok := node.X.(*ast.Ident); ok && of.Name == formatting && inOrOut.MatchString(node.Sel.Name) {
				g.refuse(node.Pos(), "%s.%s reads or writes a file, and a protocol has none", of.Name, node.Sel.Name)
			}
		}
		return true
	})
}

// nameOf is what a file calls a package that it imports.
func nameOf(file *ast.File, path string) string {
	for _, spec := range file.Imports {
		if pathOf(spec) == path && spec.Name != nil {
			return spec.Name.Name
		}
	}
	return path
}

func pathOf(spec *ast.ImportSpec) string {
	path, _ := strconv.Unquote(spec.Path.Value)
	return path
}

// -- What a package offers --------------------------------------------------------------------------------------------

type offer struct {
	at   token.Pos
	form string // what others see of it
}

func (g *gate) interfaces(theirs, trusted map[string]offer) {
	var gone []string
	for name, offered := range trusted {
		if found, there := theirs[name]; !there {
			gone = append(gone, name)
		} else if found.form != offered.form {
			g.refuse(found.at, "%s is another than in the handed-out source: it is part of the task's interface", name)
		}
	}
	if len(gone) > 0 {
		slices.Sort(gone)
		g.refuse(token.NoPos, "%s is gone, which is part of the task's interface", gone[0])
	}
}

func exported(files *token.FileSet, file *ast.File) map[string]offer {
	found := map[string]offer{}
	text := func(node any) string {
		var out strings.Builder
		_ = printer.Fprint(&out, files, node)
		return strings.Join(strings.Fields(out.String()), " ")
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			receiver := ""
			if decl.Recv != nil {
				receiver = strings.Trim(text(decl.Recv.List[0].Type), "*") + "."
			}
			if name := receiver + decl.Name.Name; ast.IsExported(name) && decl.Name.IsExported() {
				found[name] = offer{decl.Pos(), types(decl.Type.Params, text) + types(decl.Type.Results, text)}
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				addSpec(found, spec, text)
			}
		}
	}
	return found
}

func addSpec(found map[string]offer, spec ast.Spec, text func(any) string) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() {
				found[name.Name] = offer{name.Pos(), "a value"}
			}
		}
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return
		}
		form := "alias " + fmt.Sprint(spec.Assign.IsValid())
		if body, ok := spec.Type.(*ast.StructType); ok {
			form += fields(body, text)
		} else {
			form += text(spec.Type)
		}
		found[spec.Name.Name] = offer{spec.Pos(), form}
	}
}

// fields of a struct that others see. What it keeps to itself is its own affair.
func fields(body *ast.StructType, text func(any) string) string {
	var out strings.Builder
	for _, field := range body.Fields.List {
		tag := ""
		if field.Tag != nil {
			tag = field.Tag.Value
		}
		if field.Names == nil {
			fmt.Fprintf(&out, "; %s %s", text(field.Type), tag)
		}
		for _, name := range field.Names {
			if name.IsExported() {
				fmt.Fprintf(&out, "; %s %s %s", name.Name, text(field.Type), tag)
			}
		}
	}
	return out.String()
}

func types(list *ast.FieldList, text func(any) string) string {
	var out strings.Builder
	if list != nil {
		for _, field := range list.List {
			for range max(1, len(field.Names)) {
				out.WriteString(text(field.Type) + ",")
			}
		}
	}
	return "(" + out.String() + ")"
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
