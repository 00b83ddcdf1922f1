package archtest

import (
	"go/parser"
	"go/token"
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

// complete are packages whose documentation lists all their files. In others it may name
// those to start with.
var complete = []string{"pipeline", "winograd"}

// TestListsOfFiles: no package's documentation lists a file that is not there, and those of
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
		if len(listed) < fewest {
			continue
		}
		lists++
		for _, name := range have {
			if slices.Contains(complete, pkg) && !slices.Contains(listed, name) && !slices.Contains(where, name) {
				t.Errorf("%s: the package's documentation does not list %s", pkg, name)
			}
		}
		for _, name := range listed {
			if !slices.Contains(have, name) {
				t.Errorf("%s: the package's documentation lists %s, which is not there", pkg, name)
			}
		}
	}
	if lists < len(complete) {
		t.Errorf("%d packages list their files: the pattern finds too few", lists)
	}
}
