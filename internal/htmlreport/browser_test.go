package htmlreport

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browser is a headless Chromium, driven by its DevTools protocol over a pipe: messages are
// JSON that end in NUL.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	id      int
	session string
}

// chromium starts a browser, or skips the test where there is none.
func chromium(t *testing.T) *browser {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("NO CHROMIUM: the page is not tried in a browser")
	}
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	c := exec.Command(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--no-first-run", "--user-data-dir="+home, "--remote-debugging-pipe", "about:blank")
	c.Env = append(os.Environ(), "HOME="+home)
	c.ExtraFiles = []*os.File{theirIn, theirOut}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &browser{t: t, to: ourOut, from: bufio.NewReader(ourIn)}
	deadline := time.AfterFunc(2*time.Minute, func() { c.Process.Kill() })
	t.Cleanup(func() {
		b.tell("Browser.close", nil)
		ourOut.Close()
		c.Wait()
		ourIn.Close()
		deadline.Stop()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.call("Page.enable", nil, nil)
	return b
}

// tell sends a message.
func (b *browser) tell(method string, params map[string]any) {
	b.id++
	message := map[string]any{"id": b.id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if b.session != "" && !strings.HasPrefix(method, "Browser.") {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	b.to.Write(append(text, 0)) // a browser that is gone shows in the answer
}

// answer is what came back: of a call, or an event.
type answer struct {
	ID     int
	Method string
	Result json.RawMessage
	Error  *struct{ Message string }
}

func (b *browser) next(what string) answer {
	text, err := b.from.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("the browser ended before %s: %v", what, err)
	}
	var a answer
	if err := json.Unmarshal(text[:len(text)-1], &a); err != nil {
		b.t.Fatal(err)
	}
	return a
}

// call sends a message and waits for its result.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.tell(method, params)
	for {
		a := b.next("the answer to " + method)
		if a.ID != b.id {
			continue
		}
		if a.Error != nil {
			b.t.Fatalf("%s: %s", method, a.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(a.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

// open shows a file in a window of w x h.
func (b *browser) open(file string, w, h int, dark, mobile bool) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": w, "height": h, "deviceScaleFactor": 1, "mobile": mobile}, nil)
	scheme := map[bool]string{false: "light", true: "dark"}[dark]
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.tell("Page.navigate", map[string]any{"url": "file://" + file})
	for b.next("the page was there").Method != "Page.loadEventFired" {
	}
}

// value is what a script gives.
func (b *browser) value(script string) any {
	b.t.Helper()
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails *struct{ Text string }
	}
	b.call("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", script, r.ExceptionDetails.Text)
	}
	return r.Result.Value
}

// key presses a key.
func (b *browser) key(name string, code int) {
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code}, nil)
	}
}

// drag moves the mouse with its button held.
func (b *browser) drag(x0, y0, x1, y1 float64) {
	for _, e := range []struct {
		kind string
		x, y float64
	}{{"mousePressed", x0, y0}, {"mouseMoved", x1, y1}, {"mouseReleased", x1, y1}} {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": e.kind, "x": e.x, "y": e.y, "button": "left", "buttons": 1, "clickCount": 1}, nil)
	}
}

// shot is a picture of the window, or of the whole page; it is kept under name if
// ENHANCE_SCREENSHOTS names a folder.
func (b *browser) shot(name string, whole bool) image.Image {
	b.t.Helper()
	var r struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": whole}, &r)
	m, err := png.Decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(r.Data)))
	if err != nil {
		b.t.Fatal(err)
	}
	if dir := os.Getenv("ENHANCE_SCREENSHOTS"); dir != "" {
		data, _ := base64.StdEncoding.DecodeString(r.Data)
		if err := os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	return m
}

// frame is where the slider is in the window.
func (b *browser) frame() (x, y, w, h float64) {
	b.t.Helper()
	v := b.value(`(() => { const r = document.querySelector(".slider").getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()`).([]any)
	return v[0].(float64), v[1].(float64), v[2].(float64), v[3].(float64)
}

// sides says which of the pictures of func pictured is at a place: before is bluish.
func sides(m image.Image, x, y float64) string {
	r, _, b, _ := m.At(int(x), int(y)).RGBA()
	if b > r {
		return "before"
	}
	return "after"
}

// TestBrowser drives a page in Chromium: keys and the mouse move the slider, and the picture
// follows; nothing is wider than a phone; nothing is fetched; without scripts both pictures
// are there. With ENHANCE_PAGE=FILE it takes screenshots of another page.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	file := filepath.Join(t.TempDir(), "page.html")
	photos := []*Photo{photo(t, "<b>IMG</b> 1.dng"), {Name: "b.dng", Failure: "b.dng: the file is damaged at byte 17"}, photo(t, "c.dng")}
	if err := os.WriteFile(file, []byte(written(t, &Page{Title: "3 photos", Summary: "2 done, 1 failed", Program: "enhance", Photos: photos})), 0o644); err != nil {
		t.Fatal(err)
	}
	b := chromium(t)
	b.call("Network.enable", nil, nil)
	b.open(file, 1280, 900, false, false)
	b.value(`document.querySelector(".slider").scrollIntoView({behavior: "instant", block: "center"})`)
	b.value(`document.querySelector(".slider input").focus()`)
	at := func(share float64, want string, name string) {
		t.Helper()
		x, y, w, h := b.frame()
		if got := sides(b.shot(name, false), x+share*w, y+0.3*h); got != want {
			t.Errorf("%s: at %g of the width the picture is %s, want %s", name, share, got, want)
		}
	}
	at(0.4, "before", "half")
	at(0.6, "after", "half")
	for range 60 { // half a percent each
		b.key("ArrowRight", 39)
	}
	if v := b.value(`document.querySelector(".slider input").value`); v != "80" {
		t.Errorf("60 arrow keys lead from 50 to %v, want 80", v)
	}
	at(0.7, "before", "right")
	at(0.9, "after", "right")
	x, y, w, h := b.frame()
	b.drag(x+0.8*w, y+0.5*h, x+0.2*w, y+0.5*h)
	at(0.1, "before", "left")
	at(0.4, "after", "left")
	if v := b.value(`document.querySelector(".slider input").getAttribute("aria-valuetext")`); !strings.HasPrefix(fmt.Sprint(v), "20 % bilinear") {
		t.Errorf("the slider says %q", v)
	}
	b.shot("desktop", true)
	for _, width := range []int{390, 320, 1280} {
		b.open(file, width, 844, width == 390, width < 1000)
		if over := b.value(`document.documentElement.scrollWidth - innerWidth`); over.(float64) > 0 {
			t.Errorf("at %d pixels the page is %v wider", width, over)
		}
		b.shot(fmt.Sprint("width-", width), true)
	}
	if n := b.value(`performance.getEntriesByType("resource").filter(e => !e.name.startsWith("data:")).length`); n != 0.0 {
		t.Errorf("the page fetched %v things", n)
	}
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.open(file, 1280, 900, true, false)
	b.shot("no-script", true)
	checkWithoutScript(t, b)
	if other := os.Getenv("ENHANCE_PAGE"); other != "" {
		b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
		b.open(other, 1280, 900, false, false)
		b.shot("page-desktop", true)
		b.open(other, 1280, 900, true, false)
		b.shot("page-dark", true)
		b.open(other, 390, 844, false, true)
		b.shot("page-phone", true)
	}
}

// checkWithoutScript: both pictures stand side by side, and there is no slider that does nothing.
func checkWithoutScript(t *testing.T, b *browser) {
	t.Helper()
	v := b.value(`(() => { const s = document.querySelector(".slider"), r = e => s.querySelector(e).getBoundingClientRect();
		return [r(".before").right <= r(".after").left, r("input").width, r(".before").width > 100]; })()`).([]any)
	if v[0] != true || v[1] != 0.0 || v[2] != true {
		t.Errorf("without scripts: pictures apart %v, slider %v wide, pictures shown %v", v[0], v[1], v[2])
	}
}
