package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

const complaints = 3 // in one verdict

// imported is where the compiler has left the types of packages, and the language in which the module is written.
type imported struct {
	exports  map[string]string // files, by a package's path
	language string            // "go1.22"
}

// list asks Go for what the files import. It has compiled that, or does it now: nothing of a candidate is among it.
func list(module string, files ...*ast.File) (imported, error) {
	paths := []string{vocabulary}
	for _, file := range files {
		for _, spec := range file.Imports {
			paths = append(paths, pathOf(spec))
		}
	}
	slices.Sort(paths)
	const form = "{{.ImportPath}}\t{{.Export}}\t{{with .Module}}{{.GoVersion}}{{end}}"
	// -e: a package that an older Go lacks is the fault of who imports it.
	asked := exec.Command("go", append([]string{"list", "-e", "-export", "-f", form}, slices.Compact(paths)...)...)
	var wrong bytes.Buffer
	asked.Dir, asked.Stderr = module, &wrong
	said, err := asked.Output()
	if err != nil {
		return imported{}, fmt.Errorf("go list: %w: %.300s", err, wrong.Bytes())
	}
	found := imported{exports: map[string]string{}}
	for _, line := range strings.Split(strings.TrimSuffix(string(said), "\n"), "\n") {
		columns := strings.Split(line, "\t")
		if len(columns) != 3 {
			return imported{}, fmt.Errorf("go list says %.100q", line)
		}
		found.exports[columns[0]] = columns[1]
		if columns[0] == vocabulary {
			found.language = "go" + columns[2]
		}
	}
	return found, nil
}

func (im imported) open(path string) (io.ReadCloser, error) {
	if im.exports[path] == "" {
		return nil, errors.New("this Go has no such package")
	}
	return os.Open(im.exports[path])
}

// checked is a file and what its names mean.
type checked struct {
	types  *types.Package
	uses   map[*ast.Ident]types.Object
	errors []types.Error // in their order in the file
}

// check the types of a package of one file, whatever is wrong with it.
func (im imported) check(files *token.FileSet, file *ast.File) checked {
	found := checked{uses: map[*ast.Ident]types.Object{}}
	config := types.Config{
		GoVersion: im.language,
		Importer:  importer.ForCompiler(files, "gc", im.open),
		Sizes:     types.SizesFor("gc", runtime.GOARCH),
		Error: func(err error) {
			var wrong types.Error
			if errors.As(err, &wrong) && !strings.HasPrefix(wrong.Msg, "\t") { // which goes on with the one before
				found.errors = append(found.errors, wrong)
			}
		},
	}
	// The error is the first of those that were collected.
	found.types, _ = config.Check("protosim/"+file.Name.Name, files, []*ast.File{file}, &types.Info{Uses: found.uses})
	slices.SortStableFunc(found.errors, func(a, b types.Error) int { return cmp.Compare(a.Pos, b.Pos) })
	return found
}

func (c checked) complaint(stage string) verdict {
	line := func(wrong types.Error) int { return wrong.Fset.PositionFor(wrong.Pos, false).Line }
	first := verdict{Stage: stage, Line: line(c.errors[0]), Rule: c.errors[0].Msg}
	for _, wrong := range c.errors[1:min(complaints, len(c.errors))] {
		first.Rule += fmt.Sprintf("; line %d: %s", line(wrong), wrong.Msg)
	}
	return first
}
