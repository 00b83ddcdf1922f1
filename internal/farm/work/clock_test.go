package work

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoWallClock: a clock that is set changes nothing that workers and queue decide. Times
// of time.Now compare by Go's monotonic clock unless they are made without it; what makes
// them so is listed here, with what it is for.
func TestNoWallClock(t *testing.T) {
	wall := map[string]bool{"Unix": true, "UnixNano": true, "UnixMilli": true, "UnixMicro": true, "UTC": true, "Local": true, "In": true,
		"Truncate": true, "Round": true, "AddDate": true, "Date": true, "Parse": true, "ParseInLocation": true, "ModTime": true, "Format": true}
	allowed := map[string]string{
		"task.go UTC":       "Receipt.Made, for people",
		"task.go Format":    "Receipt.Made, for people",
		"photos.go ModTime": "whether a file changed: two times of one file are held against each other, for equality",
	}
	for _, dir := range []string{"..", "../queue", "."} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			times := false // a file that has no times may call what it likes
			for _, i := range f.Imports {
				times = times || i.Path.Value == `"time"` || i.Path.Value == `"os"`
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !times {
					return true
				}
				s, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || !wall[s.Sel.Name] {
					return true
				}
				if from, ok := s.X.(*ast.Ident); ok && from.Name == "url" {
					return true
				}
				if allowed[filepath.Base(name)+" "+s.Sel.Name] == "" {
					t.Errorf("%s: %s makes or reads a time of the wall clock", set.Position(call.Pos()), s.Sel.Name)
				}
				return true
			})
		}
	}
}
