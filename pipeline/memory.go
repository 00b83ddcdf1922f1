package pipeline

import (
	"fmt"
	"strconv"
	"strings"
)

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
// 1024, either case, an optional "b" or "ib" after it). 0 is [Unlimited].
func ParseMemory(s string) (Budget, error) {
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
		return Budget{}, optionErrorf("mem", "%q: want bytes such as 256M, 1.5G or 0 for no limit", s)
	}
	if v == 0 {
		return Unlimited(), nil
	}
	return Limit(max(1, int64(bytes))), nil
}
