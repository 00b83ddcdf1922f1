package main

import (
	"slices"
	"strings"
	"testing"
)

func TestSplitList(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"\n\n", ""},
		{"a.dng", "a.dng"},
		{"a.dng\nb c.dng\n", "a.dng|b c.dng"},
		{"a.dng\r\nb.dng\r\n\r\n", "a.dng|b.dng"},
		{"\ufeffa.dng\nb.dng", "a.dng|b.dng"},
		{"a.dng\x00b\nc.dng\x00", "a.dng|b\nc.dng"},
		{"a.dng\r\x00", "a.dng\r"},
		{"-\n", "./-"},
		{" a.dng ", " a.dng "},
	} {
		if got := strings.Join(splitList([]byte(c.text)), "|"); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func FuzzSplitList(f *testing.F) {
	f.Add([]byte("a.dng\nb.dng\n"))
	f.Add([]byte("a.dng\x00b\x00"))
	f.Add([]byte("-\r\n\ufeff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		size := 0
		for _, name := range splitList(text) {
			if name == "-" || strings.ContainsRune(name, 0) {
				t.Errorf("name %q", name)
			}
			size += len(name)
		}
		if size > len(text)+2*strings.Count(string(text), "-") {
			t.Errorf("%d bytes of names in %d", size, len(text))
		}
	})
}

func TestNameOutputs(t *testing.T) {
	for _, c := range []struct{ names, want, err string }{
		{names: "a.dng b.cr2", want: "out/a.png out/b.png"},
		{names: "a.dng a.cr2 b.dng", want: "out/a.dng.png out/a.cr2.png out/b.png"},
		{names: "a.cr2 a.dng", want: "out/a.cr2.png out/a.dng.png"},
		{names: "day/a.dng a.dng", want: "out/day/a.png out/a.png"},
		{names: "a a.dng", want: "out/a.png out/a.dng.png"},
		{names: "a.b.dng a.dng", want: "out/a.b.png out/a.png"},
		{names: "a.dng a.dng", err: "would both become out/a.dng.png"},
		{names: "a.dng a.cr2 a.dng.nef", err: "would both become out/a.dng.png"},
	} {
		var photos []input
		for _, name := range strings.Fields(c.names) {
			photos = append(photos, input{path: name, name: name})
		}
		ts, err := nameOutputs(photos, "out", ".png")
		if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v, want %q", c.names, err, c.err)
			continue
		}
		var got []string
		for _, x := range ts {
			got = append(got, x.out)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", c.names, got, c.want)
		}
	}
}

func TestParseShard(t *testing.T) {
	for _, bad := range []string{"", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/5", "a/b", "1.5/3", "1/99999999999"} {
		if _, err := parseShard(bad); status(err) != exitUsage {
			t.Errorf("%q: %v", bad, err)
		}
	}
	// The part of a name is promised: machines of different versions share photos.
	var parts []uint64
	for _, name := range []string{"IMG_0001.dng", "IMG_0002.dng", "day 1/IMG_0001.dng", "ä.nef"} {
		for i := uint64(1); i <= 5; i++ {
			if (shard{i, 5}).holds(name) {
				parts = append(parts, i)
			}
		}
	}
	if want := []uint64{4, 3, 3, 4}; !slices.Equal(parts, want) {
		t.Errorf("parts %d, want %d", parts, want)
	}
}

// TestRelate: where the folders of -r lie below the output.
func TestRelate(t *testing.T) {
	for names, want := range map[string]string{
		"card":                    "",
		"card ./card":             "|",
		"/one/DCIM /two/DCIM":     "one/DCIM|two/DCIM",
		"cards/one cards/two":     "one|two",
		"cards cards/two":         "|two",
		"card card2 ../card":      "", // set below: the current directory's name is not known
		"a/b/c a/b/d a/e":         "b/c|b/d|e",
		"/ /a":                    "|a",
		"cards/one cards/one/../": "one|",
	} {
		folders := map[string]string{}
		for _, name := range strings.Fields(names) {
			folders[name] = ""
		}
		if err := relate(folders); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range strings.Fields(names) {
			got = append(got, folders[name])
		}
		if names == "card card2 ../card" {
			if here := strings.TrimSuffix(got[0], "card"); got[2] != "card" || len(here) < 2 || got[1] != here+"card2" {
				t.Errorf("%s: %q", names, got)
			}
			continue
		}
		if text := strings.Join(got, "|"); text != want {
			t.Errorf("%s: %q, want %q", names, text, want)
		}
	}
}
