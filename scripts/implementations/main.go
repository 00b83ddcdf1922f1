// Command implementations compares OpenCL implementations on this machine: for each it runs the selftest
// and develops one small photo, and prints a row of the table of docs/implementations.md.
//
//	go run ./scripts/implementations [-enhance PATH] [-minutes N] ['NAME|VARIABLE=VALUE ...|WRAPPER']...
//
// Each argument names an implementation, the variables that select it, and a command that
// the program is started by, which may be empty. Without arguments it takes the host
// executor, PoCL's two devices for processors, and Oclgrind. The first is what the
// others' pictures are compared with. A cell says what failed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"enhance/internal/imgio"
)

var defaults = []string{
	"host executor|ENHANCE_DEVICE=host|",
	"PoCL pthread|POCL_DEVICES=pthread|",
	"PoCL basic|POCL_DEVICES=basic|",
	"Oclgrind|OCL_ICD_VENDORS=/usr/lib/oclgrind/liboclgrind-rt-icd.so|",
}

const (
	capture        = "testdata/raw/DSC_1339_768x512_rggb.raw" // 12-bit
	captureW       = 768
	cropX, cropY   = 300, 200
	cropW, cropH   = 96, 64
	hostDevice     = "ENHANCE_DEVICE=host" // a variable of this program only
	defaultProgram = "bin/enhance"
)

func main() {
	program := flag.String("enhance", defaultProgram, "the program")
	minutes := flag.Float64("minutes", 5, "the most that one run may take")
	flag.Parse()
	rows := flag.Args()
	if len(rows) == 0 {
		rows = defaults
	}
	if err := run(*program, time.Duration(*minutes*float64(time.Minute)), rows); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// implementation is one row.
type implementation struct {
	name, device string
	env, wrapper []string
	dir          string // of its caches and picture
}

func parse(text string) (implementation, error) {
	parts := strings.Split(text, "|")
	if len(parts) != 3 {
		return implementation{}, fmt.Errorf("%q: want NAME|VARIABLE=VALUE ...|WRAPPER", text)
	}
	m := implementation{name: parts[0], device: "0", wrapper: strings.Fields(parts[2])}
	for _, v := range strings.Fields(parts[1]) {
		if v == hostDevice {
			m.device = "host"
			continue
		}
		m.env = append(m.env, v)
	}
	return m, nil
}

func run(program string, most time.Duration, rows []string) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "implementations-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	photo := filepath.Join(dir, "photo.raw")
	if err := crop(photo); err != nil {
		return err
	}
	fmt.Println("| implementation | device, version, driver | selftest | seconds | picture: largest difference of 65535, PSNR |")
	fmt.Println("|---|---|---|---|---|")
	var first *imgio.RGB16
	for i, text := range rows {
		m, err := parse(text)
		if err != nil {
			return err
		}
		m.dir = filepath.Join(dir, fmt.Sprint(i))
		device, verdict, seconds := m.selftest(program, most)
		im, err := m.picture(program, photo, most)
		picture := ""
		switch {
		case err != nil:
			picture = cell(err.Error())
		case first == nil:
			first, picture = im, "the reference"
		default:
			picture = compare(im, first)
		}
		fmt.Printf("| %s | %s | %s | %s | %s |\n", m.name, device, verdict, seconds, picture)
	}
	return nil
}

// command runs the program under the implementation.
func (m *implementation) command(most time.Duration, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	all := append(append([]string(nil), m.wrapper...), args...)
	c := exec.CommandContext(ctx, all[0], all[1:]...)
	c.WaitDelay = time.Second
	c.Env = append(append(os.Environ(), "ENHANCE_CACHE_DIR="+filepath.Join(m.dir, "cache"), "POCL_CACHE_DIR="), m.env...)
	out, err := c.Output()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("does not end within %v", most)
	case errors.As(err, &ended) && len(out) == 0:
		lines := strings.Split(strings.TrimSpace(string(ended.Stderr)), "\n")
		return nil, fmt.Errorf("status %d: %s", ended.ExitCode(), lines[len(lines)-1])
	case errors.As(err, &ended): // a report comes with status 5, too
		err = nil
	}
	return out, err
}

func (m *implementation) selftest(program string, most time.Duration) (device, verdict, seconds string) {
	out, err := m.command(most, program, "selftest", "--json", "-g", m.device)
	if err != nil {
		return "", cell(err.Error()), ""
	}
	var r struct {
		Device string `json:"device"`
		Info   *struct {
			Version string `json:"version"`
			Driver  string `json:"driver_version"`
		} `json:"info"`
		Kernels []struct {
			Name    string `json:"kernel"`
			Problem string `json:"problem"`
		} `json:"kernels"`
		Wrong   int     `json:"wrong"`
		Seconds float64 `json:"seconds"`
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return "", cell(err.Error()), ""
	}
	if device = r.Device; r.Info != nil {
		device += ", " + r.Info.Version + ", " + r.Info.Driver
	}
	verdict = fmt.Sprintf("%d of %d right", len(r.Kernels)-r.Wrong, len(r.Kernels))
	for _, k := range r.Kernels {
		if k.Problem != "" {
			verdict += fmt.Sprintf("; %s: %s", k.Name, k.Problem)
		}
	}
	return cell(device), cell(verdict), fmt.Sprintf("%.1f", r.Seconds)
}

func (m *implementation) picture(program, photo string, most time.Duration) (*imgio.RGB16, error) {
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return nil, err
	}
	out := filepath.Join(m.dir, "picture.png")
	if _, err := m.command(most, program, photo, "--raw-size", fmt.Sprintf("%dx%d", cropW, cropH), "--cfa", "RGGB", "--black", "0", "--white", "4095",
		"-b", "16", "-o", out, "-q", "-g", m.device); err != nil {
		return nil, err
	}
	return imgio.ReadRGB16(out)
}

// crop cuts the photo out of the capture of the repository's test data.
func crop(to string) error {
	all, err := os.ReadFile(capture)
	if err != nil {
		return err
	}
	var part []byte
	for y := cropY; y < cropY+cropH; y++ {
		part = append(part, all[2*(y*captureW+cropX):][:2*cropW]...)
	}
	return os.WriteFile(to, part, 0o644)
}

func compare(a, b *imgio.RGB16) string {
	if a.Width != b.Width || a.Height != b.Height {
		return fmt.Sprintf("%dx%d in place of %dx%d", a.Width, a.Height, b.Width, b.Height)
	}
	most, squares := 0.0, 0.0
	for i, v := range a.Pix {
		d := math.Abs(float64(v) - float64(b.Pix[i]))
		most, squares = max(most, d), squares+d*d
	}
	if most == 0 {
		return "0, the same bytes"
	}
	return fmt.Sprintf("%.0f, %.1f dB", most, 10*math.Log10(65535*65535*float64(len(a.Pix))/squares))
}

// cell is text that is one cell of a Markdown table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "/")
}
