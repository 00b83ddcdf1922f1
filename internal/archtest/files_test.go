package archtest

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fileName is a file of the package itself: docs name others with their folder.
var fileName = regexp.MustCompile(`(?:^|[^\w/.-])(\w+\.go)\b`)

// fewest is how many files a package's documentation names if it is a list of them.
const fewest = 3

// complete are packages whose list of files leaves none out: in their documentation, or in
// the section of ARCHITECTURE.md that begins with filesOf and their name. The documentation of
// others may name the files to start with.
var complete = []string{"pipeline", "winograd"}

const filesOf = "## The files of "

// filesSection is the section of ARCHITECTURE.md on a package's files, "" if there is none.
func filesSection(t *testing.T, pkg string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), filesOf+pkg+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// TestListsOfFiles: no list of a package's files has one that is not there, and those of
// complete leave none out.
func TestListsOfFiles(t *testing.T) {
	lists := 0
	for pkg := range imports(t, false) {
		folder := filepath.Join(root, pkg)
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var have, listed, where []string // where the documentation itself is
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			name := filepath.Base(file)
			have = append(have, name)
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if f.Doc != nil {
				where = append(where, name)
			}
			for _, m := range fileName.FindAllStringSubmatch(f.Doc.Text(), -1) {
				listed = append(listed, m[1])
			}
		}
		for _, m := range fileName.FindAllStringSubmatch(filesSection(t, pkg), -1) {
			listed, where = append(listed, m[1]), nil // here the package's own file is listed too
		}
		if len(listed) < fewest {
			continue
		}
		lists++
		for _, name := range have {
			if slices.Contains(complete, pkg) && !slices.Contains(listed, name) && !slices.Contains(where, name) {
				t.Errorf("%s: its list of files (package documentation, or ARCHITECTURE.md) does not have %s", pkg, name)
			}
		}
		for _, name := range listed {
			if !slices.Contains(have, name) {
				t.Errorf("%s: its list of files has %s, which is not there", pkg, name)
			}
		}
	}
	if lists < len(complete) {
		t.Errorf("%d packages list their files: the pattern finds too few", lists)
	}
}
