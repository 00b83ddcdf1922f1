package pipeline

import (
	"fmt"
	"strconv"
	"strings"

	"enhance/clrt"
)

// askedFor is where a budget comes from that somebody gave.
const askedFor = "as asked for"

// budget turns the memory setting into bytes for a device, 0 for no limit, and
// says where the number comes from.
func (m Memory) budget(i *clrt.DeviceInfo) (bytes int64, why string) {
	switch {
	case m == NoLimit:
		return 0, "no limit asked for"
	case m > 0:
		return int64(m), askedFor
	case i.Type != clrt.CPU:
		return i.GlobalMem / 5 * 4, fmt.Sprintf("80 %% of the device's %s", Bytes(i.GlobalMem))
	}
	if avail, ok := memAvailable(); ok {
		return max(1, avail/2), fmt.Sprintf("half of the %s available", Bytes(avail)) // 0 would be no limit
	}
	return i.GlobalMem / 2, fmt.Sprintf("half of the device's %s", Bytes(i.GlobalMem))
}

// Bytes prints a number of bytes in binary units with a digit after the point:
// "40.1 MiB".
func Bytes(n int64) string {
	switch v := float64(n); {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", v/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", v/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", v/(1<<10))
	case n == 1:
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// ParseMemory reads a budget: bytes with an optional suffix k, m or g (powers of
// 1024, either case, an optional "b" or "ib" after it). 0 is [NoLimit].
func ParseMemory(s string) (Memory, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	for _, unit := range []string{"ib", "b"} {
		if t := strings.TrimSuffix(text, unit); t != text {
			text = t
			break
		}
	}
	shift := 0
	if n := len(text); n > 0 {
		if k := strings.IndexByte("kmgt", text[n-1]); k >= 0 {
			text, shift = text[:n-1], 10*(k+1)
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	bytes := v * float64(uint64(1)<<shift)
	if err != nil || !(v >= 0 && bytes < 1<<62) || strings.ContainsAny(text, "xpe_") {
		return 0, optionErrorf("mem", "%q: want bytes such as 256M, 1.5G or 0 for no limit", s)
	}
	if v == 0 {
		return NoLimit, nil
	}
	return max(1, Memory(bytes)), nil
}
