package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"enhance/model"
)

// networkKinds are networks, noise levels and lists of defects that do not go with each other or with the photo.
var networkKinds = []kind{
	{name: "sensors and networks", weight: 5, make: sensorAndNetwork},
	{name: "facts of weights", weight: 4, make: weightsFacts},
	{name: "model quantize", weight: 2, make: quantize},
	{name: "eval", weight: 2, make: evaluate},
}

var (
	patterns  = []string{"RGGB", "grbg", "xtrans", "quad-RGGB", "mono", "3x2:RGGBBG", "4x4:RRGGRRGGGGBBGGBB", "8x8:" + strings.Repeat("RGB", 21) + "G"}
	networks  = []string{"fast", "best", "max", "any", "pynet", "pynet-s", "classical", "pynet-m-random:1", "pynet-m-random:1,planes=24", "pynet-random:1,width=2"}
	strengths = []string{"0", "0.5", "1", "1e-9", "-1", "2", "NaN", ""}
	levels    = []string{"0,0", "1,1", "1e-300,0", "0,1", "1e-3,1e-5", "1,0,0,1,0,0", "-1,0", "NaN,0", "2,0", "0", ",", "estimate"}
)

// oneOf gives one of a list.
func oneOf[T any](a *attempt, list []T) T { return list[a.IntN(len(list))] }

// extremes are samples at the ends of their range: all dark, all full, alternating, hot and dead at random.
func (a *attempt) extremes() []byte {
	how := a.IntN(6)
	var out []byte
	for i := range photoW * photoH {
		y, x := i/photoW, i%photoW
		v := 0
		switch how {
		case 1:
			v = 65535
		case 2:
			v = 65535 * ((x + y) & 1)
		case 3:
			v = 65535 * ((x/2 + y/2) & 1)
		case 4:
			v = 65535 * a.IntN(2)
		case 5:
			if v = 9 * i; a.IntN(5) == 0 {
				v = 65535
			}
		}
		out = binary.LittleEndian.AppendUint16(out, uint16(v))
	}
	return out
}

// sensorAndNetwork develops samples of some array by some network, with some noise and defects.
func sensorAndNetwork(_ *campaign, a *attempt) error {
	a.develop(a.file("photo.raw", a.extremes()), "--raw-size", fmt.Sprintf("%dx%d", photoW, photoH), "--cfa", oneOf(a, patterns))
	a.maybe("-m", oneOf(a, networks))
	a.maybe("--denoise", oneOf(a, strengths))
	a.maybe("--noise", oneOf(a, levels))
	a.maybe("--wb", "1,1,1")
	a.maybe("--precision", oneOf(a, []string{"fp16", "auto", "bf16"}))
	a.maybe("--ensemble", oneOf(a, []string{"2", "4", "8"}))
	a.maybe("-v")
	a.maybe("--dry-run")
	if a.IntN(3) == 0 {
		var list bytes.Buffer
		for i, step := 0, 1+a.IntN(7); i < 2*photoW*photoH; i += step { // the second half lies below the photo
			fmt.Fprintln(&list, i%photoW, i/photoW)
		}
		a.args = append(a.args, "--defects", a.file("list.txt", list.Bytes()))
	}
	return nil
}

// facts are what the metadata of weights say, and values that they do not have.
var facts = map[string][]string{
	"arch":                {"pynet", "pynet-s", "pynet-m", "", "\x1b[2J"},
	"arch.config":         {"{}", "", `{"widths":[8]}`, `{"widths":[1e9]}`},
	"codes":               {"{}", "[]", `{"stem":[0,0]}`},
	"convention.noise":    {"0", "4", "12", "-4", "1e9", ""},
	"convention.samples":  {"quad", "masked", "none"},
	"convention.clip":     {"both", "high", "low"},
	"convention.curve":    {"gamma", "srgb", "log"},
	"convention.gamma":    {"0", "-1", "NaN", "1e308", "1e-300"},
	"convention.divisor":  {"0", "-1", "Inf", "1e-300"},
	"convention.output":   {"0", "display-srgb", "camera-gamma"},
	"convention.pack":     {"0,0 0,0 0,0 0,0", "0,1 1,0", "9,9 0,0 0,1 1,0", ""},
	"noise.left":          {"{}", `{"deviation":[0.1],"left":[1]}`, `{"deviation":[0.1],"left":[[1]]}`, `{"deviation":[0.1],"left":[9]}`, `{"deviation":[2,1],"left":[1,0]}`, strings.Repeat("[", 9000)},
	"train.patterns":      {"", "foveon", "xtrans", "bayer quad rgb", strings.Repeat("xtrans ", 3000)},
	"width":               {"0", "-1", "1e9"},
	"level":               {"-1", "6", "5"},
	"end":                 {"shuffle", "bilinear", "none"},
	"something.of.others": {"\x00", "\u202e"},
}

// weightsFacts is whole weights whose metadata are others', or whose values are as large as they can be.
func weightsFacts(c *campaign, a *attempt) error {
	path := a.file("net.safetensors", a.weights(c))
	if a.IntN(3) == 0 {
		a.info(path)
		a.maybe("--json")
		return nil
	}
	a.develop(a.file("photo.raw", a.extremes()), "--raw-size", fmt.Sprintf("%dx%d", photoW, photoH), "--cfa", oneOf(a, patterns[:4]), "-m", path)
	a.maybe("--denoise", "0.5")
	a.maybe("--noise", "1e-3,1e-5")
	a.maybe("--ensemble", "2")
	a.maybe("--precision", "fp16")
	return nil
}

// weights are those of a network, with other facts or other values.
func (a *attempt) weights(c *campaign) []byte {
	b := oneOf(a, slices.DeleteFunc(slices.Clone(c.files.weights), func(s seed) bool { return filepath.Ext(s.name) != ".safetensors" })).data
	n := binary.LittleEndian.Uint64(b)
	header := map[string]any{}
	if err := json.Unmarshal(b[8:8+n], &header); err != nil {
		panic(fmt.Sprintf("case cannot be made: %v", err))
	}
	values := bytes.Clone(b[8+n:])
	meta, _ := header["__metadata__"].(map[string]any)
	names := slices.Sorted(maps.Keys(facts))
	for range a.IntN(4) {
		name := oneOf(a, names)
		if meta[name] = oneOf(a, facts[name]); a.IntN(4) == 0 {
			delete(meta, name)
		}
	}
	if a.IntN(3) == 0 { // the largest, the least or no numbers
		with := oneOf(a, []byte{0x7b, 0x7f, 0xfb, 0x00})
		for i := 1; i < len(values); i += 2 {
			values[i] = with
		}
	}
	text, err := json.Marshal(header)
	if err != nil {
		panic(fmt.Sprintf("case cannot be made: %v", err))
	}
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, values)
}

// quantize makes a network of codes; what it is made of must stay as it is.
func quantize(c *campaign, a *attempt) error {
	weights, picture := c.files.weights[1].data, c.files.references[a.IntN(len(c.files.references))]
	if a.IntN(2) == 0 {
		weights = a.weights(c)
	} else {
		picture.data = a.damage(picture)
	}
	net := a.file("net.safetensors", weights)
	out := filepath.Join(a.dir, oneOf(a, []string{"codes.safetensors", "codes.safetensors", "net.safetensors", "codes.png", "no/codes.safetensors"}))
	a.args = []string{"model", "quantize", net, a.file(picture.name, picture.data), "-g", "host", "-o", out}
	a.maybe("-y")
	a.maybe("--json")
	a.maybe("--max-loss", oneOf(a, []string{"0", "60", "1e-9", "NaN"}))
	a.extra = hostMem
	if strings.HasSuffix(out, "/codes.safetensors") {
		a.network = out
	}
	a.keeps = true
	return nil
}

// evaluate restores mosaics of a picture.
func evaluate(c *campaign, a *attempt) error {
	picture := c.files.references[a.IntN(len(c.files.references))]
	a.args = []string{"eval", a.file(picture.name, a.damage(picture)), "-g", "host"}
	a.maybe("-m", oneOf(a, networks))
	a.maybe("-m", "classical")
	a.maybe("--cfa", oneOf(a, append(patterns, "rgb")))
	a.maybe("--sigma", oneOf(a, []string{"10", "255", "256", "NaN"}))
	a.maybe("--sensor", oneOf(a, []string{"1e-3,1e-5", "1,1", "0,0,0,1,1", "NaN,0", "1e-3,0,100,1,1", "0"}))
	a.maybe("--noise", oneOf(a, levels))
	a.maybe("--denoise", oneOf(a, strengths))
	a.maybe("--border", oneOf(a, []string{"0", "15", "16", "-1", "9223372036854775807"}))
	a.maybe("--json")
	if a.IntN(3) == 0 {
		a.args = append(a.args, "-m", a.file("net.safetensors", a.weights(c)))
	}
	a.extra = hostMem
	a.keeps = true
	return nil
}

// checkNetwork wants a whole network after success, and none else.
func (a *attempt) checkNetwork() error {
	if a.network == "" {
		return nil
	}
	_, err := os.Stat(a.network)
	switch {
	case a.status != 0 && err == nil:
		return fmt.Errorf("status %d, and a network is there", a.status)
	case a.status != 0:
		return nil
	}
	_, err = model.Load(a.network)
	return err
}

// checkKept wants the case's own files as they were.
func (a *attempt) checkKept() error {
	if !a.keeps {
		return nil
	}
	for name, data := range a.data {
		if b, err := os.ReadFile(filepath.Join(a.dir, name)); err != nil || !bytes.Equal(b, data) {
			return fmt.Errorf("%s is not what it was (%v)", name, err)
		}
	}
	return nil
}
