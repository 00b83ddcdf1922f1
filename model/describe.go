package model

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ParseConvention reads a convention described as JSON: an object with the keys that the metadata of our own weights
// have after "convention." (samples, pack, subtract_black, gamma, divisor, output, curve, clip, noise), and multiple and
// scale, which no architecture tells here. A key that is left out has the value of pynet-s, pack in
// reading order, sides of any number and twice the sides.
func ParseConvention(text []byte) (*Convention, error) {
	var given map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&given); err != nil {
		return nil, fmt.Errorf("no JSON object: %w", err)
	}
	if d.More() {
		return nil, fmt.Errorf("more follows the JSON object")
	}
	c := pynetsConvention()
	c.Multiple, c.MinSide = 1, 1
	meta := map[string]string{}
	for key, v := range given {
		switch v.(type) {
		case string, bool, json.Number:
		default:
			return nil, fmt.Errorf("%s: want a text, a number, true or false", key)
		}
		value := fmt.Sprint(v)
		switch key {
		case "multiple":
			if n, err := fmt.Sscanf(value, "%d", &c.Multiple); n != 1 || err != nil || c.Multiple < 1 || c.Multiple > 1<<12 {
				return nil, fmt.Errorf("multiple is %q: want 1 to %d", value, 1<<12)
			}
			c.MinSide = c.Multiple
		case "scale":
			n, err := fmt.Sscanf(value, "%d/%d", &c.ScaleNum, &c.ScaleDen)
			if n != 2 || err != nil || min(c.ScaleNum, c.ScaleDen) < 1 || max(c.ScaleNum, c.ScaleDen) > 16 {
				return nil, fmt.Errorf("scale is %q: want a fraction of numbers up to 16, such as 2/1", value)
			}
		case "samples", "pack", "subtract_black", "gamma", "divisor", "output", "curve", "clip", "noise":
			meta["convention."+key] = value
		default:
			return nil, fmt.Errorf("the key %q is not known", key)
		}
	}
	if err := c.fromMeta(meta); err != nil {
		return nil, err
	}
	return &c, c.validate()
}
