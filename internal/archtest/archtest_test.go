package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "enhance"
	self   = "internal/archtest"
)

// imports maps every package of the module to what its files import. The files
// are read directly, whatever their build tags, so that rules hold on all
// systems and the test's cached result is dropped when one of them changes.
func imports(t *testing.T, tests bool) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if file != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "out" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") != tests {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		list := found[pkg]
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
		found[pkg] = list
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(found, self)
	return found
}

// within returns the path of a package of this module without the module's name.
func within(imported string) (string, bool) { return strings.CutPrefix(imported, module+"/") }

func layerOf(pkg string) (int, bool) {
	for n, layer := range layers {
		if slices.Contains(layer, pkg) {
			return n, true
		}
	}
	return len(layers), slices.Contains(tools, pkg)
}

func TestEveryPackageHasALayer(t *testing.T) {
	found := imports(t, false)
	for pkg := range found {
		if _, ok := layerOf(pkg); !ok {
			t.Errorf("package %s is in no layer: add it to internal/archtest/layers.go and ARCHITECTURE.md", pkg)
		}
	}
	seen := map[string]bool{}
	for _, pkg := range slices.Concat(append(slices.Clone(layers), tools)...) {
		if _, ok := found[pkg]; !ok {
			t.Errorf("package %s is in internal/archtest/layers.go and not in the module", pkg)
		}
		if seen[pkg] {
			t.Errorf("package %s is listed twice", pkg)
		}
		seen[pkg] = true
	}
}

func TestImportsGoDown(t *testing.T) {
	for pkg, list := range imports(t, false) {
		from, _ := layerOf(pkg)
		for _, p := range list {
			target, ok := within(p)
			if !ok {
				continue
			}
			if to, known := layerOf(target); known && to >= from {
				t.Errorf("%s (layer %d) imports %s (layer %d): imports go to lower layers only", pkg, from, target, to)
			}
		}
	}
}

// Packages named ...test serve tests; the program must not carry them.
func TestProgramDoesNotImportTestSupport(t *testing.T) {
	for pkg, list := range imports(t, false) {
		for _, p := range list {
			if target, ok := within(p); ok && strings.HasSuffix(target, "test") && !strings.HasSuffix(pkg, "test") {
				t.Errorf("%s imports %s, which only tests may", pkg, target)
			}
		}
	}
}

func TestDependenciesStayWhereTheyBelong(t *testing.T) {
	check := func(pkg, imported string) {
		if imported == "C" {
			t.Errorf("%s uses cgo; the module is built without a C compiler", pkg)
		}
		first, _, _ := strings.Cut(imported, "/")
		if _, ours := within(imported); ours || !strings.Contains(first, ".") {
			return
		}
		for mod, users := range external {
			if imported != mod && !strings.HasPrefix(imported, mod+"/") {
				continue
			}
			if !slices.Contains(users, pkg) {
				t.Errorf("%s imports %s, which only %s may", pkg, imported, strings.Join(users, ", "))
			}
			return
		}
		t.Errorf("%s imports %s, which no rule in internal/archtest/layers.go knows", pkg, imported)
	}
	for _, test := range []bool{false, true} {
		for pkg, list := range imports(t, test) {
			for _, p := range list {
				check(pkg, p)
			}
		}
	}
}

func TestHostPackagesDoNotReachOpenCL(t *testing.T) {
	graph := imports(t, false)
	// trail returns the chain of imports from pkg to clrt, or nil.
	var trail func(pkg string) []string
	trail = func(pkg string) []string {
		if pkg == "clrt" {
			return []string{pkg}
		}
		for _, p := range graph[pkg] {
			if next, ok := within(p); ok {
				if rest := trail(next); rest != nil {
					return append([]string{pkg}, rest...)
				}
			}
		}
		return nil
	}
	for _, pkg := range hostOnly {
		if way := trail(pkg); way != nil {
			t.Errorf("%s must not depend on OpenCL, but %s", pkg, strings.Join(way, " imports "))
		}
	}
	if trail("internal/exec") == nil {
		t.Error("exec does not reach clrt: this test no longer sees imports")
	}
}

func TestNamesSaySomething(t *testing.T) {
	for pkg := range imports(t, false) {
		for _, part := range strings.Split(pkg, "/") {
			if slices.Contains(bannedNames, part) {
				t.Errorf("package %s: name the folder after what it holds, not %q", pkg, part)
			}
		}
	}
}

func TestPackagesHaveDocComments(t *testing.T) {
	for pkg := range imports(t, false) {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		documented := false
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			documented = documented || f.Doc.Text() != ""
		}
		if !documented {
			t.Errorf("package %s has no doc comment", pkg)
		}
	}
}

// docRow matches a line of the table of packages in ARCHITECTURE.md.
var docRow = regexp.MustCompile("(?m)^\\| (\\d+) \\| `([^`]+)` \\|")

func TestArchitectureDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	got := make([][]string, len(layers))
	for _, row := range docRow.FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.Atoi(row[1])
		if err != nil || n >= len(layers) {
			t.Fatalf("ARCHITECTURE.md: no layer %s for %s", row[1], row[2])
		}
		got[n] = append(got[n], row[2])
	}
	for n := range layers {
		slices.Sort(got[n])
		if want := slices.Sorted(slices.Values(layers[n])); !slices.Equal(got[n], want) {
			t.Errorf("layer %d: ARCHITECTURE.md lists %v, internal/archtest/layers.go %v", n, got[n], want)
		}
	}
}

// link matches a relative link or image of a Markdown page.
var link = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)

func TestDocumentsLinkToWhatExists(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if pages = append(pages, more...); len(pages) < 3 {
		t.Fatalf("found only %d pages", len(pages))
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), filepath.FromSlash(path.Clean(m[1])))); err != nil {
				t.Errorf("%s links to %s, which does not exist", filepath.Base(page), m[1])
			}
		}
	}
}
