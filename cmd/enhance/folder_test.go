package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"enhance/internal/imgio"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
)

// folder is a folder of files of all kinds and what should become of them.
type folder struct {
	t    *testing.T
	dir  string
	rand *rand.Rand
	good map[string]string // picture by photo, both below their folders
	bad  []string          // photos that cannot be read
}

func (f *folder) put(name string, content []byte) {
	f.t.Helper()
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// photo is a DNG file of random samples, in one of several layouts.
func (f *folder) photo(kind int) []byte {
	f.t.Helper()
	s := dng.Spec{Width: 32, Height: 24, Bits: 12, InSubIFD: kind%2 == 1}
	if kind%4 >= 2 {
		s.Order = binary.BigEndian
	}
	if kind%3 == 1 {
		s.Bits, s.JPEG = 14, &dng.JPEG{}
	}
	s.Meta.CFA = []mosaic.Pattern{mosaic.RGGB, mosaic.BGGR, mosaic.GBRG, mosaic.GRBG}[kind%4]
	s.Meta.AsShot = &[3]float64{0.5, 1, 0.6}
	for range s.Width * s.Height {
		s.Samples = append(s.Samples, uint16(100+f.rand.IntN(3000)))
	}
	var b bytes.Buffer
	if err := dng.Write(&b, s); err != nil {
		f.t.Fatal(err)
	}
	return b.Bytes()
}

// damage makes what cannot be read of a photo.
func (f *folder) damage(photo []byte, kind int) []byte {
	switch kind % 5 {
	case 0: // nothing left
		return nil
	case 1: // cut within the samples or the directories
		return photo[:len(photo)*2/3]
	case 2: // cut within the header
		return photo[:7]
	case 3: // no photo at all
		return []byte(strings.Repeat("this is a text\n", 40))
	}
	photo = bytes.Clone(photo) // a directory far beyond the end
	binary.NativeEndian.PutUint32(photo[4:], 0x7f7f7f7f)
	return photo
}

// fill makes n photos, a tenth of them damaged, in sub-folders, among other files.
func (f *folder) fill(n int) {
	var j bytes.Buffer
	if err := jpeg.Encode(&j, image.NewGray(image.Rect(0, 0, 8, 8)), nil); err != nil {
		f.t.Fatal(err)
	}
	for i := range n {
		under := []string{"", "day 1/", "day 2/", "day 2/fine/"}[i%4]
		name := fmt.Sprintf("%sIMG_%04d.%s", under, i, []string{"dng", "DNG", "tif"}[i%3])
		content := f.photo(i)
		if i%10 == 7 {
			name = strings.TrimSuffix(name, filepath.Ext(name)) + []string{".dng", ".nef", ".cr2"}[i/10%3]
			f.put(name, f.damage(content, i/10))
			f.bad = append(f.bad, name)
			continue
		}
		f.put(name, content)
		f.good[name] = strings.TrimSuffix(name, filepath.Ext(name)) + ".png"
		if i%6 == 0 { // what cameras and photo managers put beside it
			f.put(strings.TrimSuffix(name, filepath.Ext(name))+".JPG", j.Bytes())
			f.put(name+".xmp", []byte("<x:xmpmeta/>"))
		}
	}
	f.put("day 1/.hidden.dng", []byte("hidden"))
	f.put(".trash/IMG_9999.dng", []byte("hidden"))
	f.put("readme.txt", []byte("my photos"))
}

// develop runs enhance on the folder.
func (f *folder) develop(out string, args ...string) (status int, rep batchReport, stderr string) {
	f.t.Helper()
	var stdout, say bytes.Buffer
	status = run(append([]string{"-g", "host", "-m", "pynet-m-random:1,size=tiny", "--json", "-r", f.dir, "-o", out + "/"}, args...), &stdout, &say)
	if err := json.Unmarshal(stdout.Bytes(), &rep); err != nil {
		f.t.Fatalf("%v: %s", err, say.String())
	}
	return status, rep, say.String()
}

// batchReport is what the test needs of a report.
type batchReport struct {
	Done, Failed, Skipped int
	Photos                []struct {
		Input, Error string
		Status       int
		Skipped      bool
	}
}

// TestFolder: of 200 photos in folders, a tenth damaged, every good one is developed,
// every bad one is named, and the status is 1.
func TestFolder(t *testing.T) {
	n := 200
	if testing.Short() {
		n = 40
	}
	f := &folder{t: t, dir: filepath.Join(t.TempDir(), "card"), rand: rand.New(rand.NewPCG(16, 5)), good: map[string]string{}}
	f.fill(n)
	if len(f.bad) != n/10 {
		t.Fatalf("%d of %d photos are damaged", len(f.bad), n)
	}
	for _, link := range [][2]string{{"..", "day 1/loop"}, {".", "day 2/self"}, {"self", "self"}} { // that lead in circles
		if err := os.Symlink(link[0], filepath.Join(f.dir, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	status, rep, stderr := f.develop(out)
	if status != exitFailed || rep.Done != len(f.good) || rep.Failed != len(f.bad) || rep.Skipped != 0 {
		t.Errorf("status %d, %d done, %d failed, %d skipped of %d good and %d bad: %s", status, rep.Done, rep.Failed, rep.Skipped, len(f.good), len(f.bad), stderr)
	}
	f.checkPictures(out)
	for _, name := range f.bad {
		path := f.dir + "/" + name
		if strings.Count(stderr, "enhance: "+path+": ") != 1 {
			t.Errorf("%s is not named once", name)
		}
		for _, p := range rep.Photos {
			if p.Input == path && (p.Error == "" || p.Status == exitOK || p.Status == exitDefect) {
				t.Errorf("%s: status %d, error %q", name, p.Status, p.Error)
			}
		}
	}
	for _, note := range []string{"JPEG or HEIF files are left out: ", "files are passed over: not RAW photos"} {
		if strings.Count(stderr, note) != 1 {
			t.Errorf("%q is not said once", note)
		}
	}

	// Once more there is nothing to do but to say what is bad.
	if status, rep, stderr = f.develop(out, "--skip-existing"); status != exitFailed || rep.Skipped != len(f.good) || rep.Failed != len(f.bad) {
		t.Errorf("again: status %d, %d skipped, %d failed: %s", status, rep.Skipped, rep.Failed, stderr)
	}
	f.checkShards()
}

// checkPictures wants the pictures of all good photos and no other file.
func (f *folder) checkPictures(out string) {
	f.t.Helper()
	var got []string
	err := filepath.WalkDir(out, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(out, path)
		got = append(got, filepath.ToSlash(name))
		if im, err := imgio.ReadRGB16(path); err != nil || im.Width != 32 || im.Height != 24 {
			f.t.Errorf("%s: %v", name, err)
		}
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	var want []string
	for _, picture := range f.good {
		want = append(want, picture)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		f.t.Errorf("pictures %q, want %q", got, want)
	}
}

// checkShards: the parts of a folder are all of it, and no photo is in two.
func (f *folder) checkShards() {
	f.t.Helper()
	seen := map[string]int{}
	for i := 1; i <= 3; i++ {
		_, rep, _ := f.develop(filepath.Join(f.t.TempDir(), "part"), "--shard", fmt.Sprintf("%d/3", i), "--dry-run")
		if len(rep.Photos) == 0 {
			f.t.Errorf("part %d is empty", i)
		}
		for _, p := range rep.Photos {
			seen[p.Input]++
		}
	}
	for path, n := range seen {
		if n != 1 {
			f.t.Errorf("%s is in %d parts", path, n)
		}
	}
	if len(seen) != len(f.good)+len(f.bad) {
		f.t.Errorf("%d photos in all parts, want %d", len(seen), len(f.good)+len(f.bad))
	}
}
