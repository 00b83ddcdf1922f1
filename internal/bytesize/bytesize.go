// Package bytesize prints numbers of bytes and reads them.
package bytesize

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Text prints a number of bytes in binary units with a digit after the point:
// "40.1 MiB".
func Text(n int64) string {
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

// Parse reads a number of bytes with an optional suffix k, m, g or t (powers of 1024,
// either case, an optional "b" or "ib" after it). What lies between 0 and 1 is 1.
func Parse(s string) (int64, error) {
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
	if (err == nil || errors.Is(err, strconv.ErrRange)) && v > 0 && bytes >= 1<<62 && strings.Trim(text, "0123456789.") == "" {
		return 0, fmt.Errorf("%q: too large: want bytes such as 256M or 1.5G", s)
	}
	if err != nil || !(v >= 0 && bytes < 1<<62) || strings.ContainsAny(text, "xpe_") {
		return 0, fmt.Errorf("%q: want bytes such as 256M or 1.5G", s)
	}
	if v == 0 {
		return 0, nil
	}
	return max(1, int64(bytes)), nil
}
