//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || loong64 || riscv64)

package libraw

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
)

const supported = true

// Descriptors of the process. Standard input has the parent's requests; standard output
// and error lead nowhere, as LibRaw prints there.
const (
	requestsFD = 0
	photoFD    = 3
	repliesFD  = 4
)

// fd writes to a descriptor without Go's poller, which would want descriptors of its own
// when no more may be opened.
type fd int

func (f fd) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := syscall.Write(int(f), b[done:])
		if n > 0 {
			done += n
		}
		if err != nil && err != syscall.EINTR {
			return done, err
		}
	}
	return done, nil
}

// Serve is what the process does that Open starts: it reads one photo and answers until
// its standard input ends. Call it before anything else and exit with its result.
// Nothing is printed.
func Serve() (status int) {
	closeOthers(repliesFD)
	signal.Ignore(os.Interrupt, syscall.SIGHUP) // meant for the parent, which decides
	asked := make(chan [requestBytes]byte, 1)
	go listen(asked)
	if err := serve(fd(repliesFD), asked); err != nil {
		return 1
	}
	return 0
}

// listen passes requests on. The end of standard input is the end of the parent: it
// ends the process, also in the middle of decoding.
func listen(asked chan<- [requestBytes]byte) {
	for {
		var b [requestBytes]byte
		for n := 0; n < len(b); {
			k, err := syscall.Read(requestsFD, b[n:])
			if err == syscall.EINTR {
				continue
			}
			if k <= 0 || err != nil {
				os.Exit(0)
			}
			n += k
		}
		asked <- b
	}
}

// photo is what the process knows.
type photo struct {
	lib     *library
	handle  unsafe.Pointer
	damaged int
	facts   *facts
	all     []uint16
	stride  int
}

func serve(out fd, asked <-chan [requestBytes]byte) error {
	p := &photo{}
	var err error
	if p.lib, p.handle, err = load(); err != nil {
		return writeFrame(out, kindUnusable, []byte(err.Error()))
	}
	onDamage := purego.NewCallback(func(_, _ unsafe.Pointer, _ int32) uintptr {
		p.damaged++
		return 0
	})
	p.lib.onDamage(p.handle, onDamage, 0)
	file, limits, err := confine()
	if err != nil {
		return writeFrame(out, kindDamaged, []byte(err.Error()))
	}
	if err := p.identify(file, limits); err != nil {
		return p.refuse(out, err)
	}
	if err := p.send(out, kindIdentified); err != nil {
		return err
	}
	for b := range asked {
		y0, n := decodeRequest(b[:])
		if n > 0 {
			err = p.rows(out, y0, n)
		} else if err = p.decode(file); err != nil {
			return p.refuse(out, err)
		} else {
			err = p.send(out, kindDecoded)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// libraryError is a code of LibRaw.
type libraryError struct {
	code int32
	text string
}

func (e *libraryError) Error() string { return e.text }

func (p *photo) check(code int32) error {
	if code == 0 {
		return nil
	}
	return &libraryError{code, p.lib.strerror(code)}
}

const fileUnsupported = -2 // LIBRAW_FILE_UNSUPPORTED

func (p *photo) refuse(out fd, err error) error {
	text := fmt.Sprintf("LibRaw %s: %v", p.lib.name(), err)
	var e *libraryError
	switch {
	case errors.As(err, &e) && e.code == fileUnsupported:
		return writeFrame(out, kindUnknown, []byte(text))
	case errors.As(err, new(*layoutError)):
		return writeFrame(out, kindUnusable, []byte(err.Error()))
	case e != nil:
		text = "the file is damaged or cut short: " + text
	}
	return writeFrame(out, kindDamaged, []byte(text))
}

// identify parses the file's headers.
func (p *photo) identify(file []byte, limits *limits) error {
	if err := p.check(p.lib.openBuffer(p.handle, unsafe.Pointer(&file[0]), uintptr(len(file)))); err != nil {
		return err
	}
	s := p.lib.take(p.handle)
	if err := p.lib.confirmValues(p.handle, s); err != nil {
		return err
	}
	p.facts = s.facts(&p.lib.layout)
	if n := p.facts.pixels(); n <= maxPixels(int64(len(file))) { // else the parent refuses it
		return limits.forPixels(n)
	}
	return nil
}

func (p *photo) send(out fd, k kind) error {
	p.facts.Version, p.facts.Damaged = p.lib.name(), p.damaged
	text, err := json.Marshal(p.facts)
	if err != nil {
		return err
	}
	return writeFrame(out, k, text)
}

// decode decodes the samples, after which the file is needed no more.
func (p *photo) decode(file []byte) error {
	if p.all != nil {
		return errors.New("the photo is decoded already")
	}
	if err := p.check(p.lib.unpack(p.handle)); err != nil {
		return err
	}
	p.lib.recycleData(p.handle)
	_ = syscall.Munmap(file)
	s := p.lib.take(p.handle)
	if err := p.lib.confirmDecoded(s); err != nil {
		return err
	}
	p.facts = s.facts(&p.lib.layout)
	if p.all, p.stride = p.lib.samples(p.handle, s); p.all == nil {
		return errors.New("the samples are no mosaic of 16-bit numbers")
	}
	return nil
}

// rows sends rows of the visible area.
func (p *photo) rows(out fd, y0, n int) error {
	f := p.facts
	if p.all == nil || y0 < 0 || n < 0 || y0 > f.Height || n > f.Height-y0 || f.Left+f.Width > p.stride || (f.Top+f.Height)*p.stride > len(p.all) {
		return errors.New("rows that there are not")
	}
	b := make([]byte, 0, 2*n*f.Width)
	for y := range n {
		for _, v := range p.all[(f.Top+y0+y)*p.stride+f.Left:][:f.Width] {
			b = binary.LittleEndian.AppendUint16(b, v)
		}
	}
	return writeFrame(out, kindRows, b)
}
