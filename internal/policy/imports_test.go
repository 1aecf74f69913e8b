// Package policy checks what may import what.
package policy

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/filgroth/filgroth"

// layers lists the packages from the bottom up. A package may import packages of lower layers only (tests may import any,
// as long as Go lets them); packages of one layer do not see each other unless allowed below. A name stands for the tree
// under it; the longest matching name counts. "" is the root package.
var layers = [][]string{
	{"internal", "span"},
	{"pinning"},
	{"ntt", "msm", "synth"},
	{"synth/gadget", "synth/vanilla"},
	{"synth/internal"},
	{"synth/porep", "synth/post", "synth/update", "synth/gnarkcs"},
	{"synth/vanillasim"},
	{"groth16"},
	{"groth16/params", "groth16/aggregate", "groth16/bundle", "groth16/faulty", "synth/gnarkcs/keys", "gpu"},
	{""},
	{"bench", "examples"},
}

// sameLayer are the exceptions: the key may import the values although they share its layer.
var sameLayer = map[string][]string{
	"internal":     {"internal", "span"},
	"synth/gadget": {"synth/gadget"},
	"ntt":          {"ntt"},
	"msm":          {"msm"},
	"groth16":      {"groth16"},
	"bench":        {"bench"},
	"examples":     {"examples"},
}

// outside are the direct dependencies, and where they may be used apart from tests ("" is everywhere).
var outside = map[string][]string{
	"github.com/consensys/gnark-crypto": {""},
	"golang.org/x/sync":                 {""},
	"golang.org/x/sys":                  {""},
	"golang.org/x/crypto":               {""},
	"github.com/consensys/gnark":        {"synth/gnarkcs", "examples", "bench"},
	"github.com/schollz/progressbar/v3": {"examples", "bench"},
	"golang.org/x/perf":                 {"bench"},
	"github.com/stretchr/testify":       {"msm/msmtest", "ntt/ntttest", "groth16/groth16test", "internal/golden", "synth/gadget/gadgettest", "synth/internal/circuittest"},
}

func within(pkg, tree string) bool {
	return tree == "" || pkg == tree || strings.HasPrefix(pkg, tree+"/")
}

// place gives the layer and the name in it of a package given relative to the module.
func place(pkg string) (int, string) {
	at, name := -1, ""
	for i, l := range layers {
		for _, n := range l {
			if n == "" {
				if pkg == "" {
					return i, ""
				}
				continue
			}
			if within(pkg, n) && len(n) > len(name) {
				at, name = i, n
			}
		}
	}
	return at, name
}

type file struct {
	path, pkg string
	test      bool
	imports   []string
}

func sources(t *testing.T) []file {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	var files []file
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(p, "go.mod"))
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || nested == nil) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(rel))
		if pkg == "." {
			pkg = ""
		}
		x := file{path: rel, pkg: pkg, test: strings.HasSuffix(rel, "_test.go")}
		for _, s := range f.Imports {
			v, err := strconv.Unquote(s.Path.Value)
			if err != nil {
				return err
			}
			x.imports = append(x.imports, v)
		}
		files = append(files, x)
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func TestImports(t *testing.T) {
	for _, f := range sources(t) {
		for _, imp := range f.imports {
			switch {
			case imp == "C":
				require.True(t, within(f.pkg, "gpu"), "%s: only gpu uses cgo", f.path)
			case f.test:
			case imp == module || strings.HasPrefix(imp, module+"/"):
				checkInside(t, f, strings.TrimPrefix(strings.TrimPrefix(imp, module), "/"))
			case strings.Contains(strings.SplitN(imp, "/", 2)[0], "."):
				checkOutside(t, f, imp)
			}
		}
	}
}

func checkInside(t *testing.T, f file, imp string) {
	from, fromName := place(f.pkg)
	to, toName := place(imp)
	require.GreaterOrEqual(t, from, 0, "%s: package %q has no layer", f.path, f.pkg)
	require.GreaterOrEqual(t, to, 0, "%s: package %q has no layer", f.path, imp)
	if to < from {
		return
	}
	if to == from {
		for _, n := range sameLayer[fromName] {
			if toName == n {
				return
			}
		}
	}
	t.Errorf("%s: %q (layer %d) must not import %q (layer %d)", f.path, f.pkg, from, imp, to)
}

func checkOutside(t *testing.T, f file, imp string) {
	for dep, where := range outside {
		if !within(imp, dep) {
			continue
		}
		for _, w := range where {
			if within(f.pkg, w) {
				return
			}
		}
		t.Errorf("%s: %s may not be used in %q", f.path, imp, f.pkg)
		return
	}
	t.Errorf("%s: %s is not a declared dependency", f.path, imp)
}

// TestOnlyMainsReadTheEnvironment: libraries read neither the environment nor flags.
func TestOnlyMainsReadTheEnvironment(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	var bad []string
	for _, f := range sources(t) {
		if f.test || within(f.pkg, "examples") || within(f.pkg, "bench") {
			continue
		}
		src, err := os.ReadFile(filepath.Join(root, f.path))
		require.NoError(t, err)
		for _, w := range []string{"os.Getenv(", "os.LookupEnv(", "os.Environ(", "flag.Parse("} {
			if strings.Contains(string(src), w) && !strings.Contains(string(src), "\npackage main") && !strings.HasPrefix(string(src), "package main") {
				bad = append(bad, f.path+": "+w)
			}
		}
	}
	sort.Strings(bad)
	require.Empty(t, bad)
}

// TestNoInit: nothing happens at import time.
func TestNoInit(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		src, err := os.ReadFile(filepath.Join(root, f.path))
		require.NoError(t, err)
		require.NotContains(t, string(src), "\nfunc init()", f.path)
	}
}
