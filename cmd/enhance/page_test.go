package main

import (
	"testing"

	"enhance/internal/htmlreport"
)

func TestFolderOf(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"a.dng"}, ""}, {[]string{"/x/a.dng"}, "/x/"}, {[]string{"/x/y/a.dng", "/x/y/b.dng"}, "/x/y/"},
		{[]string{"/x/y/a.dng", "/x/b.dng"}, "/x/"}, {[]string{"x/a.dng", "y/a.dng"}, ""}, {[]string{"/x/a", "/xy/a"}, "/"}, {[]string{"-"}, ""},
	} {
		var ts []target
		for _, name := range c.names {
			ts = append(ts, target{input: input{path: name}})
		}
		if got := folderOf(ts); got != c.want {
			t.Errorf("%q: %q, want %q", c.names, got, c.want)
		}
	}
}

// TestPageShow: a page holds a bounded number of pictures, and what it holds is planned for.
func TestPageShow(t *testing.T) {
	one := page{path: "p.html", photos: make([]*htmlreport.Photo, 1)}
	if s := one.show(0); s.Side != detailSide || !s.Before || s.Kept <= 0 {
		t.Errorf("one photo: %+v", s)
	}
	many := page{path: "p.html", photos: make([]*htmlreport.Photo, 100_000)}
	for i, want := range map[int]int{0: manySide, mostDetailed - 1: manySide, mostDetailed: htmlreport.ThumbnailSide, mostPictured - 1: htmlreport.ThumbnailSide, mostPictured: 0} {
		s := many.show(i)
		if s.Side != want || s.Before != (want == manySide) || s.Kept > 128<<20 {
			t.Errorf("photo %d: %+v, want a side of %d", i, s, want)
		}
	}
	if s := (&page{}).show(0); s.Side != 0 {
		t.Errorf("without a page: %+v", s)
	}
}
