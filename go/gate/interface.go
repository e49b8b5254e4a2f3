package main

import (
	"crypto/sha256"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// An interface is compared as text: each thing that others see of the package is spelled in one way only, whatever its
// source looks like, so two are the same exactly if their texts are.

type offer struct {
	at   token.Pos
	form string
}

const (
	unknown = "\x00" // a type that does not compile; in no other form, as tags are quoted
	longest = 1000   // characters of a type, after which its hash stands for it: types may double and double
)

// interfaces must be the same. What holds a type that does not compile is left to the compiler's own words.
func (g *gate) interfaces(theirs, trusted map[string]offer, compiles bool) {
	var gone []string
	for name, offered := range trusted {
		found, there := theirs[name]
		switch {
		case !there && token.IsExported(name):
			gone = append(gone, name)
		case there && found.form != offered.form && (compiles || !strings.Contains(found.form, unknown)):
			g.refuse(found.at, "%s is another than in the handed-out source: it is part of the task's interface", name)
		}
	}
	if len(gone) > 0 {
		slices.Sort(gone)
		g.refuse(token.NoPos, "%s is gone, which is part of the task's interface", gone[0])
	}
}

// offersOf a package, by name: what it exports with the methods of these, and whatever type of its own these are made of.
func offersOf(pkg *types.Package) map[string]offer {
	s := speller{pkg: pkg, offers: map[string]offer{}, known: map[types.Type]string{}}
	for _, name := range pkg.Scope().Names() {
		if token.IsExported(name) {
			s.waiting = append(s.waiting, pkg.Scope().Lookup(name))
		}
	}
	for len(s.waiting) > 0 {
		object := s.waiting[0]
		s.waiting = s.waiting[1:]
		if _, done := s.offers[object.Name()]; !done {
			s.offers[object.Name()] = offer{object.Pos(), s.form(object)}
		}
	}
	return s.offers
}

type speller struct {
	pkg     *types.Package
	offers  map[string]offer
	waiting []types.Object
	known   map[types.Type]string
}

func (s *speller) form(object types.Object) string {
	switch object := object.(type) {
	case *types.Const:
		return "const " + s.spell(object.Type()) + " " + object.Val().ExactString()
	case *types.TypeName:
		return s.declared(object)
	case *types.Var:
		return "var " + s.spell(object.Type())
	default:
		return s.spell(object.Type()) // a function
	}
}

func (s *speller) declared(object *types.TypeName) string {
	named, ok := object.Type().(*types.Named)
	if !ok || object.IsAlias() {
		return "alias " + s.spell(object.Type())
	}
	if !types.IsInterface(named) {
		s.methods(object, named)
		s.methods(object, types.NewPointer(named))
	}
	return "type" + s.parameters(named.TypeParams()) + s.spell(named.Underlying())
}

// methods that others may call, of a type or of pointers to it; among them those of what it embeds.
func (s *speller) methods(object *types.TypeName, of types.Type) {
	within := object.Name() + "."
	if _, pointer := of.(*types.Pointer); !pointer {
		within = "a value's " + within
	}
	set := types.NewMethodSet(of)
	for i := range set.Len() {
		if method := set.At(i).Obj(); method.Exported() {
			at := method.Pos()
			if method.Pkg() != s.pkg {
				at = object.Pos()
			}
			s.offers[within+method.Name()] = offer{at, s.spell(method.Type())}
		}
	}
}

// spell a type.
func (s *speller) spell(t types.Type) string {
	t = types.Unalias(t)
	if text, found := s.known[t]; found {
		return text
	}
	s.known[t] = unknown // a type without a name that holds itself is an error
	text := s.write(t)
	switch {
	case strings.Contains(text, unknown):
		text = unknown
	case len(text) > longest:
		text = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	}
	s.known[t] = text
	return text
}

func (s *speller) write(t types.Type) string {
	switch t := t.(type) {
	case *types.Basic:
		if t.Kind() == types.Invalid {
			return unknown
		}
		return types.Typ[t.Kind()].Name() // a byte is an uint8
	case *types.Named:
		return s.name(t)
	case *types.TypeParam:
		return "$" + strconv.Itoa(t.Index())
	case *types.Pointer:
		return "*" + s.spell(t.Elem())
	case *types.Slice:
		return "[]" + s.spell(t.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), s.spell(t.Elem()))
	case *types.Map:
		return "map[" + s.spell(t.Key()) + "]" + s.spell(t.Elem())
	case *types.Chan:
		return fmt.Sprintf("chan %d %s", t.Dir(), s.spell(t.Elem()))
	case *types.Signature:
		variadic := fmt.Sprint(t.Variadic())
		return "func" + s.parameters(t.TypeParams()) + s.tuple(t.Params()) + variadic + s.tuple(t.Results())
	case *types.Struct:
		return s.fields(t)
	case *types.Interface:
		return s.demands(t)
	case *types.Union:
		return s.union(t)
	}
	return unknown
}

// name of a type, and of those that it is made for. What others cannot name themselves is looked at as well.
func (s *speller) name(t *types.Named) string {
	object := t.Obj()
	text := object.Name()
	if object.Pkg() != nil {
		text = object.Pkg().Path() + "." + text
	}
	if object.Pkg() == s.pkg && object.Parent() == s.pkg.Scope() {
		s.waiting = append(s.waiting, object)
	}
	for i := range t.TypeArgs().Len() {
		text += "|" + s.spell(t.TypeArgs().At(i))
	}
	return text + ";"
}

// fields of a struct that others see, those of what it embeds among them. What it keeps to itself is its own affair.
func (s *speller) fields(t *types.Struct) string {
	text := ""
	for i := range t.NumFields() {
		field := t.Field(i)
		inner, ok := types.Unalias(field.Type()).(*types.Named)
		switch {
		case field.Embedded() && ok && s.isPrivate(inner):
			if fields := s.spell(inner.Underlying()); fields != "struct{}" {
				text += "embedded " + fields + ";"
			}
		case field.Exported() || field.Embedded():
			text += fmt.Sprintf("%s %t %s %q;", field.Name(), field.Embedded(), s.spell(field.Type()), t.Tag(i))
		}
	}
	return "struct{" + text + "}"
}

// isPrivate says whether others cannot name this struct.
func (s *speller) isPrivate(t *types.Named) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok && t.Obj().Pkg() == s.pkg && !t.Obj().Exported()
}

// demands of an interface: its methods, then what else its types must be.
func (s *speller) demands(t *types.Interface) string {
	text := "interface{"
	for i := range t.NumMethods() {
		method := t.Method(i)
		text += method.Id() + s.spell(method.Type()) + ";"
	}
	for i := range t.NumEmbeddeds() {
		if inner, ok := t.EmbeddedType(i).Underlying().(*types.Interface); !ok || !inner.IsMethodSet() {
			text += s.spell(t.EmbeddedType(i)) + ";"
		}
	}
	return text + "}"
}

func (s *speller) union(t *types.Union) string {
	text := ""
	for i := range t.Len() {
		text += fmt.Sprintf("%t %s|", t.Term(i).Tilde(), s.spell(t.Term(i).Type()))
	}
	return text
}

func (s *speller) tuple(t *types.Tuple) string {
	text := "("
	for i := range t.Len() {
		text += s.spell(t.At(i).Type()) + ","
	}
	return text + ")"
}

func (s *speller) parameters(list *types.TypeParamList) string {
	text := "["
	for i := range list.Len() {
		text += s.spell(list.At(i).Constraint()) + ","
	}
	return text + "]"
}
