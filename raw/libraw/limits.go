package libraw

import (
	"errors"
	"os"
	"strconv"
	"strings"
)

// Limits of the process. The plan of the host's memory counts on them, see
// Image.Bytes.
const (
	// ownBytes is what the process has resident before it reads a photo: this program,
	// Go's runtime and LibRaw's code and tables. 21 MiB were measured.
	ownBytes = 32 << 20
	// roomBytes is for LibRaw's state and parsing, and for this program's answers.
	roomBytes = 64 << 20
	// pixelBytes is for a sample: two that stay and what decoders need beside them.
	pixelBytes = 8
	// Seconds of processor time: some for a start and one for every MiB of the file.
	// LibRaw decodes some 80 million samples a second.
	cpuSeconds = 60
)

// addressBytes is by how much the process's addresses may grow for a file of size bytes
// with so many samples.
func addressBytes(size, pixels int64) int64 { return roomBytes + size + pixelBytes*pixels }

var errNotInstalled = errors.New("LibRaw is not installed")

// statusBytes reads a line of a status file of proc(5); 0 where there is none.
func statusBytes(path, name string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 3 && words[0] == name+":" {
			n, _ := strconv.ParseInt(words[1], 10, 40)
			return n << 10
		}
	}
	return 0
}
