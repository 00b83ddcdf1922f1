package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"enhance/bench"
	"enhance/clrt"
	"enhance/internal/atomicfile"
	"enhance/internal/peak"
	"enhance/internal/regularfile"
	"enhance/pipeline/facts"
)

// devicePeaks is what a device can do at most. It is measured once for a device and
// driver and then kept: a cache that cannot be read or written costs a second.
func devicePeaks(dev *clrt.Device) (*facts.Peaks, error) {
	path := peaksFile(dev.Info())
	if p := readPeaks(path); p != nil {
		return p, nil
	}
	p, err := measurePeaks(dev)
	if err != nil || path == "" {
		return p, err
	}
	if text, err := json.Marshal(p); err == nil && os.MkdirAll(filepath.Dir(path), 0o755) == nil {
		if f, err := atomicfile.Create(path, atomicfile.Options{Overwrite: true}); err == nil {
			defer f.Abort()
			if _, err := f.Write(text); err == nil {
				_ = f.Commit()
			}
		}
	}
	return p, nil
}

// peaksGeneration is raised when what is measured changes: figures of a build that did
// not know a unit would pass for those of a device without it.
const peaksGeneration = "2"

// peaksFile is where the peaks of a device, or of some of its cores, are kept, "" for
// nowhere.
func peaksFile(i *clrt.DeviceInfo) string {
	dir := clrt.CacheDir("peaks")
	if dir == "" {
		return ""
	}
	key := sha256.Sum256([]byte(strings.Join([]string{peaksGeneration, i.Platform, i.Name, i.DriverVersion, i.Version, fmt.Sprint(i.ComputeUnits)}, "\n")))
	return filepath.Join(dir, hex.EncodeToString(key[:12])+".json")
}

// maxPeaks bounds the file of a device's peaks, which has a line.
const maxPeaks = 1 << 16

// readPeaks returns what is kept, nil if that is nothing of use.
func readPeaks(path string) *facts.Peaks {
	if path == "" {
		return nil
	}
	text, err := regularfile.Read(path, maxPeaks)
	if err != nil {
		return nil
	}
	return parsePeaks(text)
}

func parsePeaks(text []byte) *facts.Peaks {
	p := &facts.Peaks{}
	if json.Unmarshal(text, p) != nil || !(p.FMA > 0 && p.Bytes > 0 && p.MMA >= 0 && p.TF32 >= 0 && p.Codes >= 0 && p.Warpgroup >= 0) {
		return nil
	}
	return p
}

func measurePeaks(dev *clrt.Device) (*facts.Peaks, error) {
	caps, err := bench.Caps(dev)
	if err != nil {
		return nil, err
	}
	u, err := bench.Units(dev, caps.Matrix, caps.Warpgroup)
	if err != nil {
		return nil, err
	}
	cl, err := clrt.NewContext(dev)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	copied, err := peak.Copy(cl)
	return &facts.Peaks{Units: u, Bytes: copied * 1e9}, err
}
