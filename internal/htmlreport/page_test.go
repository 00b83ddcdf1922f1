package htmlreport

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"
	"math"
	"regexp"
	"strings"
	"testing"

	"enhance/internal/sidebyside"
)

// pictured makes pictures of w x h: a bluish before and a reddish after, with a fine pattern.
func pictured(t testing.TB, w, h int, alone, details bool) *Pictures {
	t.Helper()
	m, err := sidebyside.New(sidebyside.Config{Width: w, Height: h, Alone: alone, Side: 600, Crops: 4, CropSide: 64})
	if err != nil {
		t.Fatal(err)
	}
	before, after := make([]uint16, 3*w), make([]uint16, 3*w)
	for y := range h {
		for x := range w {
			v := uint16(12000 * (2 + math.Sin(float64(x)/9)*math.Cos(float64(y)/7)))
			copy(before[3*x:], []uint16{v / 3, v / 2, v})
			copy(after[3*x:], []uint16{v, v / 2, v / 3})
		}
		if err := m.Add(before, after); err != nil {
			t.Fatal(err)
		}
	}
	r, err := m.Result()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Encode(r, details)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// photo is an entry with everything.
func photo(t testing.TB, name string) *Photo {
	return &Photo{Name: name, Subtitle: "Canon EOS, 900 × 600", Before: "bilinear", After: "enhance", Pictures: pictured(t, 900, 600, false, true),
		Figures: []Fact{{"CPSNR", "38.2 dB"}, {"Time", "1.20 s"}}, Notes: []string{"the white level is a guess"},
		Facts: []Group{{"Settings", []Fact{{"Tone", "natural"}, {"White balance", strings.Repeat("as shot ", 12)}}}},
		Times: &Times{Stages: []Span{{"plan", 0.1}, {"prepare", 0.2}, {"run", 0.8}, {"finish", 0.1}}, Busy: []Span{{"decode", 0.3}, {"encode", 2}}},
		Memory: []Curve{{Title: "Device memory", Seconds: 1.2, Samples: []Sample{{0, 0}, {0.3, 50 << 20}, {1.2, 40 << 20}},
			Lines: []Line{{"planned peak", 52 << 20}, {"budget", 64 << 20}}}}}
}

func written(t testing.TB, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPage: a page has everything of one photo, every picture in it is whole, and nothing in
// it leads elsewhere.
func TestPage(t *testing.T) {
	p := photo(t, "IMG_1.dng")
	text := written(t, &Page{Title: "IMG_1.dng", Program: "enhance", Photos: []*Photo{p}})
	for _, want := range []string{"38.2 dB", "the white level is a guess", "planned peak <b>52.0 MiB</b>", "prepare <b>200 ms</b>", `type="range"`, "White balance", "<h1>IMG_1.dng</h1>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, `class="index"`) {
		t.Error("a page of one photo has an index")
	}
	if at := regexp.MustCompile(`(?i)(src|href|url)\s*[=(]\s*["']?(https?:|//|file:)`).FindString(text); at != "" {
		t.Errorf("the page leads elsewhere: %s", at)
	}
	uris := regexp.MustCompile(`src="data:image/(jpeg|png);base64,([^"]*)"`).FindAllStringSubmatch(text, -1)
	if len(uris) != 2+2*len(p.Pictures.Crops) {
		t.Errorf("%d pictures, with %d crops", len(uris), len(p.Pictures.Crops))
	}
	for _, m := range uris {
		data, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(m[2], "&#43;", "+"))
		if err != nil || m[1] == "png" && !isPNG(data) {
			t.Errorf("a %s picture is damaged: %v", m[1], err)
		}
	}
	for _, alt := range regexp.MustCompile(`<img[^>]*>`).FindAllString(text, -1) {
		if !strings.Contains(alt, " alt=") {
			t.Errorf("a picture has no text: %.80s", alt)
		}
	}
}

func isPNG(data []byte) bool {
	m, err := png.Decode(bytes.NewReader(data))
	return err == nil && m.Bounds().Dx() == 64
}

// TestIndex: several photos have an index, in which those that failed are named with the reason.
func TestIndex(t *testing.T) {
	photos := []*Photo{photo(t, "a.dng"), {Name: "b.dng", Failure: "b.dng: damaged"}, {Name: "c.dng", Skipped: true}}
	photos = append(photos, &Photo{Name: "d.dng", Pictures: pictured(t, 90, 60, true, false)})
	text := written(t, &Page{Title: "4 photos", Photos: photos})
	for _, want := range []string{`class="index"`, `href="#photo-1"`, "b.dng: damaged", "skipped", `id="photo-1"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(text, "<article"); n != 1 {
		t.Errorf("%d photos with details, want 1", n)
	}
}

// TestEmpty: a photo without pictures, times of 0 and curves without samples make a page.
func TestEmpty(t *testing.T) {
	text := written(t, &Page{Title: "x", Photos: []*Photo{{Name: "x", Failure: "it is damaged", Times: &Times{}, Memory: []Curve{{}}}}})
	if !strings.Contains(text, "it is damaged") || strings.Contains(text, "NaN") {
		t.Error(text)
	}
	one := &Photo{Name: "y", Pictures: pictured(t, 1, 1, false, true), Times: &Times{}, Memory: []Curve{{Title: "m"}, {Title: "n", Seconds: 1, Samples: []Sample{{0, 0}}}}}
	if text := written(t, &Page{Title: "x", Photos: []*Photo{one}}); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error("a number of the page is not finite")
	}
}

// FuzzNames: text of files never becomes markup: the page has the tags of one with harmless text.
func FuzzNames(f *testing.F) {
	f.Add("a.dng")
	f.Add(`"><script>alert(1)</script>`)
	f.Add("'; background: url(//x)\x00\xff")
	f.Add("{{.}} --> </style></script><!--")
	pictures := pictured(f, 20, 10, false, true)
	page := func(t testing.TB, text string) string {
		p := &Photo{Name: text, Subtitle: text, Before: text, After: text, Notes: []string{text}, Pictures: pictures,
			Figures: []Fact{{text, text}}, Facts: []Group{{text, []Fact{{text, text}}}}, Times: &Times{Stages: []Span{{text, 1}}, Busy: []Span{{text, 1}}},
			Memory: []Curve{{Title: text, Seconds: 1, Samples: []Sample{{0, 1}}, Lines: []Line{{text, 2}}}}}
		failed := &Photo{Name: text, Failure: text}
		return written(t, &Page{Title: text, Summary: text, Program: text, Photos: []*Photo{p, failed}})
	}
	count := func(s string) string {
		return fmt.Sprint(strings.Count(s, "<"), strings.Count(s, ">"), strings.Count(s, "<script"), strings.Count(s, `"`))
	}
	harmless := page(f, "x")
	f.Fuzz(func(t *testing.T, text string) {
		got := page(t, text)
		if text == "" || len(text) > 60 { // other parts are there
			return
		}
		if count(got) != count(harmless) {
			t.Errorf("%q changes the page's markup", text)
		}
	})
}
