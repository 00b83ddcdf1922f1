package farm

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func testOrder(t testing.TB, settings ...Setting) *Order {
	t.Helper()
	o, err := NewOrder(settings, ".png", false)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func testReceipt(t testing.TB) *Receipt {
	h := func(s string) string { return Hash(s) }
	r := &Receipt{Photo: h("photo"), Picture: h("picture"), Bytes: 7, Extension: ".png", Source: "a/b.dng", Order: *testOrder(t), Model: h("model"),
		Generation: "g", Class: "c", Device: "d", Program: "p", Worker: "w", Made: "2026-11-22T09:00:00Z", Seconds: 1.5}
	r.Complete()
	return r
}

func TestCheckName(t *testing.T) {
	for _, c := range []struct {
		name string
		ok   bool
	}{
		{"a.dng", true}, {"a/b c/ä.dng", true}, {".hidden/a", true}, {"..a", true},
		{"", false}, {".", false}, {"/a", false}, {"../a", false}, {"a/../b", false}, {"a//b", false}, {"a/", false}, {"a\x00b", false},
		{`a\b`, false}, {"a\xff", false}, {".enhance/results/x", false}, {strings.Repeat("x", 5000), false},
	} {
		if err := CheckName(c.name); (err == nil) != c.ok {
			t.Errorf("%.20q: %v", c.name, err)
		}
	}
}

// TestKey: every fact changes the key, and no two lists of facts share one by where one
// ends and the next begins.
func TestKey(t *testing.T) {
	base := Facts{"photo", "model", "look", "generation", "class"}
	seen := map[Key]string{base.Key(): "base"}
	v := reflect.ValueOf(&base).Elem()
	for i := range v.NumField() {
		f := base
		reflect.ValueOf(&f).Elem().Field(i).SetString("other")
		if was, there := seen[f.Key()]; there {
			t.Errorf("%s has the key of %s", v.Type().Field(i).Name, was)
		}
		seen[f.Key()] = v.Type().Field(i).Name
	}
	if (&Facts{Photo: "ab", Model: "c"}).Key() == (&Facts{Photo: "a", Model: "bc"}).Key() {
		t.Error("the border between facts does not matter")
	}
}

func TestOrderID(t *testing.T) {
	a := testOrder(t, Setting{Name: "tone", Value: "linear"}, Setting{Name: "bits", Value: "16"})
	b := testOrder(t, Setting{Name: "bits", Value: "16"}, Setting{Name: "tone", Value: "linear"})
	if a.ID() != b.ID() || !IsID(a.ID()) {
		t.Errorf("IDs %q and %q", a.ID(), b.ID())
	}
	c := *a
	c.Replace = true
	if c.ID() == a.ID() || c.Look() != a.Look() {
		t.Error("-y is part of the order, not of the look")
	}
	got, err := ParseOrder(a.Encode())
	if err != nil || !reflect.DeepEqual(got, a) {
		t.Errorf("%+v, %v; want %+v", got, err, a)
	}
}

func TestParseRefuses(t *testing.T) {
	task, err := NewTask(testOrder(t).ID(), "a.dng", "a.png")
	if err != nil {
		t.Fatal(err)
	}
	good := string(task.Encode())
	if got, err := ParseTask([]byte(good)); err != nil || *got != *task {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, text := range []string{
		"", "null", "{}", "[]", "hello", good + "x", good + good,
		strings.Replace(good, `"version":1`, `"version":2`, 1),
		strings.Replace(good, `"version":1`, `"version":1,"command":"rm"`, 1),
		strings.Replace(good, "a.dng", "../a.dng", 1),
		strings.Replace(good, "a.png", "/etc/passwd", 1),
		strings.Replace(good, task.Order, "x", 1),
		strings.Repeat(" ", maxText) + good,
	} {
		if _, err := ParseTask([]byte(text)); !errors.As(err, new(*FormatError)) {
			t.Errorf("%.60q: %v", text, err)
		}
	}
	for _, s := range [][]Setting{
		{{Name: "a"}, {Name: "a"}}, {{Name: ""}}, {{Name: "-o"}}, {{Name: "A"}}, {{Name: "a b"}},
		{{Name: "a", Value: "x\x00"}}, {{Name: "a", File: &File{}}}, {{Name: "a", Value: "x", File: &File{SHA256: Hash()}}},
		{{Name: "a", File: &File{SHA256: Hash(), Extension: "/x"}}},
		{{Name: "a", File: &File{SHA256: Hash(), Extension: ".an-extension-of-19"}}},
		{{Name: "a", File: &File{SHA256: Hash(), Beside: &File{}}}},
		{{Name: "a", File: &File{SHA256: Hash(), Beside: &File{SHA256: Hash(), Extension: "/x"}}}},
		{{Name: "a", File: &File{SHA256: Hash(), Beside: &File{SHA256: Hash(), Beside: &File{SHA256: Hash()}}}}},
	} {
		if _, err := NewOrder(s, ".png", false); err == nil {
			t.Errorf("%+v is an order", s)
		}
	}
	weights := []Setting{{Name: "model", File: &File{SHA256: Hash(), Extension: ".safetensors"}}}
	if _, err := NewOrder(weights, ".png", false); err != nil {
		t.Error(err)
	}
	for _, ext := range []string{"", "png", ".", "./x", ".a.b", ".toolongext"} {
		if _, err := NewOrder(nil, ext, false); err == nil {
			t.Errorf("%q is an extension", ext)
		}
	}
}

func TestReceipt(t *testing.T) {
	r := testReceipt(t)
	got, err := ParseReceipt(r.Encode())
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Fatalf("%+v, %v; want %+v", got, err, r)
	}
	// Nothing that the key depends on can be changed without it.
	text := string(r.Encode())
	for _, change := range [][2]string{{r.Photo, Hash("other")}, {`"generation":"g"`, `"generation":"h"`}, {`"class":"c"`, `"class":"d"`}, {`"bytes":7`, `"bytes":0`}} {
		if _, err := ParseReceipt([]byte(strings.Replace(text, change[0], change[1], 1))); err == nil {
			t.Errorf("%s may become %s", change[0], change[1])
		}
	}
}

func TestSizeClass(t *testing.T) {
	for _, c := range []struct{ w, h, side int }{{0, 0, 2048}, {2048, 1, 2048}, {1, 2049, 3072}, {6000, 4000, 6144}, {46341, 46341, 65536}, {1 << 30, 1, 1 << 20}} {
		if got := Sides[SizeClass(c.w, c.h)]; got != c.side {
			t.Errorf("%dx%d is in %d, want %d", c.w, c.h, got, c.side)
		}
	}
}

func TestTake(t *testing.T) {
	for _, c := range []struct {
		own, fastest float64
		held         int
		waiting      int64
		want         bool
	}{
		{0, 1, 0, 0, true}, {1, 0, 0, 0, true}, {1, 1, 1, 0, true}, {1.4, 1, 1, 1, true},
		{10, 1, 0, 10, true}, {10, 1, 0, 9, false}, {10, 1, 1, 19, false}, {10, 1, 1, 20, true},
	} {
		if got := Take(c.own, c.fastest, c.held, c.waiting); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestDead(t *testing.T) {
	p := DefaultPolicy()
	killed, passing, hopeless := Attempt{Worker: "w"}, Attempt{"v", &Failure{Passing, IO, "no disk", ""}}, Attempt{"u", &Failure{Hopeless, Input, "no photo", "log"}}
	crashed := Attempt{"x", &Failure{Crashed, Device, "signal: killed", "last words"}}
	for _, c := range []struct {
		a    Attempts
		kind Kind
		has  string
	}{
		{nil, "", ""}, {Attempts{killed, passing}, "", ""}, {Attempts{hopeless}, Hopeless, "no photo"},
		{Attempts{killed, killed, passing}, Crashed, "no disk"}, {Attempts{passing, passing, passing}, Passing, "v: no disk"},
		{Attempts{crashed, killed, crashed}, Crashed, "x: signal: killed; w: "},
	} {
		f := c.a.Dead(&p)
		if f == nil && c.kind == "" {
			continue
		}
		if f == nil || f.Kind != c.kind || !strings.Contains(f.Reason, c.has) {
			t.Errorf("%+v: %+v", c.a, f)
		}
	}
	if f := (Attempts{crashed, crashed, crashed}).Dead(&p); !strings.Contains(f.Log, "last words") {
		t.Errorf("the log is lost: %+v", f)
	}
	for kind, blames := range map[Kind]bool{Hopeless: true, Passing: true, Crashed: true, Full: false, Stopped: false, Cut: false} {
		if kind.Blames() != blames {
			t.Errorf("%s blames the photo: %v", kind, !blames)
		}
	}
	if got := Tail(strings.Repeat("line\n", MaxLog)); len(got) > MaxLog || !strings.HasPrefix(got, "line\n") {
		t.Errorf("the tail begins with %q", got[:8])
	}
}

// FuzzParse: whatever comes from the network or the disk, what is accepted is encoded as
// it was and stays below the roots.
func FuzzParse(f *testing.F) {
	task, _ := NewTask(testOrder(f).ID(), "a/b.dng", "a/b.png")
	r := testReceipt(f)
	f.Add(task.Encode())
	f.Add(testOrder(f, Setting{Name: "tone", Value: "linear"}).Encode())
	f.Add(r.Encode())
	f.Add(NewNamed(task, r).Encode())
	f.Add(Attempts{{"w", &Failure{Crashed, Device, "x", "y"}}}.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		if task, err := ParseTask(data); err == nil {
			again, err := ParseTask(task.Encode())
			if err != nil || *again != *task || CheckName(task.Photo) != nil || CheckName(task.Output) != nil {
				t.Errorf("%q: %+v, %v", data, again, err)
			}
		}
		if o, err := ParseOrder(data); err == nil {
			if again, err := ParseOrder(o.Encode()); err != nil || again.ID() != o.ID() {
				t.Errorf("%q: %+v, %v", data, again, err)
			}
		}
		if r, err := ParseReceipt(data); err == nil {
			if again, err := ParseReceipt(r.Encode()); err != nil || !reflect.DeepEqual(again, r) {
				t.Errorf("%q: %+v, %v", data, again, err)
			}
		}
		if n, err := ParseNamed(data); err == nil {
			if again, err := ParseNamed(n.Encode()); err != nil || *again != *n {
				t.Errorf("%q: %+v, %v", data, again, err)
			}
		}
		ParseAttempts(data)
	})
}
