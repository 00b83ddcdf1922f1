package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"enhance/raw/dcp"
	"enhance/raw/tiff"
)

// fileKinds are damaged files and names.
var fileKinds = []kind{
	{name: "photo, dry run", weight: 6, make: func(c *campaign, a *attempt) error {
		a.damagedPhoto(c)
		a.args = append(a.args, "--dry-run")
		a.maybe("--exposure", "auto")
		a.maybe("--wb", "auto")
		a.maybe("--json")
		a.maybe("--look", "profile")
		return nil
	}},
	{name: "photo", weight: 4, make: func(c *campaign, a *attempt) error {
		a.damagedPhoto(c)
		a.maybe("-m", "pynet-m-random:1")
		return nil
	}},
	{name: "inspect", weight: 2, make: func(c *campaign, a *attempt) error {
		s := c.files.photos[a.IntN(len(c.files.photos))]
		a.args = []string{"inspect", a.file(s.name, a.damage(s))}
		a.maybe("--json")
		return nil
	}},
	{name: "weights", weight: 5, make: func(c *campaign, a *attempt) error {
		s := c.files.weights[a.IntN(len(c.files.weights))]
		path := a.file(s.name, a.damage(s))
		if a.IntN(3) > 0 {
			a.args = []string{"model", "info", path}
			a.maybe("--json")
			return nil
		}
		a.develop(a.headerless(c)...)
		a.args = append(a.args, "-m", path)
		return nil
	}},
	{name: "device profile", weight: 3, make: func(c *campaign, a *attempt) error {
		s := c.files.profiles[a.IntN(len(c.files.profiles))]
		a.args = append(a.headerless(c), "--dry-run", "--device-profile", a.file(s.name, a.damage(s)))
		a.maybe("--json")
		a.extra = 64 << 20
		return nil
	}},
	{name: "reference", weight: 4, make: func(c *campaign, a *attempt) error {
		s := c.files.references[a.IntN(len(c.files.references))]
		a.develop(a.headerless(c)...)
		a.args = append(a.args, "--reference", a.file(s.name, a.damage(s)))
		a.maybe("--dry-run")
		return nil
	}},
	{name: "camera profile", weight: 3, make: func(c *campaign, a *attempt) error {
		order := tiff.Order(binary.LittleEndian)
		if a.IntN(2) == 0 {
			order = binary.BigEndian
		}
		profile := a.file("camera.dcp", a.damage(seed{"camera.dcp", dcp.Encode(wholeProfile(), order)}))
		photo := a.headerless(c)
		if a.IntN(2) == 0 {
			photo = []string{a.file("profiled.dng", c.files.profiled)}
		}
		a.develop(photo...)
		a.args = append(a.args, "--dcp", profile)
		a.maybe("--look", "profile")
		a.maybe("--output-profile", "rec2020")
		a.maybe("--dry-run")
		return nil
	}},
	{name: "defect list", weight: 2, make: func(c *campaign, a *attempt) error {
		text := []byte("3 4\n5 6 1700000000 # comment\n47 31 0\n")
		if a.IntN(3) == 0 {
			text = bytes.Repeat(text, 1<<a.IntN(14))
		}
		if a.IntN(4) == 0 {
			text = mutate(a.Rand, text)
		} else {
			text = mutateText(a.Rand, text)
		}
		a.develop(a.headerless(c)...)
		a.args = append(a.args, "--defects", a.file("list.txt", text))
		a.maybe("--dry-run")
		return nil
	}},
	{name: "names", weight: 2, make: func(c *campaign, a *attempt) error {
		parts := []string{"\x1b[2J", "\n", "\r", "\u202e", "\xff", "a", "%s", " ", "-", "é", "\x07", strings.Repeat("x", 100)}
		name := "n"
		for range 1 + a.IntN(2) {
			name += parts[a.IntN(len(parts))]
		}
		a.develop("--raw-size", fmt.Sprintf("%dx%d", photoW, photoH), "--cfa", "RGGB", a.file(name, c.files.headerless[:len(c.files.headerless)-2*a.IntN(2)]))
		a.maybe("-m", name)
		a.maybe("--json")
		a.maybe("-v")
		a.maybe("--device-profile", name)
		return nil
	}},
	{name: "arguments", weight: 2, make: func(c *campaign, a *attempt) error {
		a.develop(a.headerless(c)...)
		flags := []string{"--wb", "--exposure", "--noise", "--denoise", "--mem", "--host-mem", "--black", "--white", "--raw-size", "--cfa", "-b", "-f", "--precision", "-m", "--algo", "--min-psnr", "-g", "--tone", "--defects", "--shard", "--from", "--ensemble"}
		values := []string{"", "0", "-1", "1e999", "NaN", "inf", "9223372036854775808", "99999999G", "1,1", "1,1,1", "0,0,0", "1e-300,1,1", "\x1b[2J", "auto", "png", "16", "65535", "1x1", "99999x99999", "RGGB", "2e9", "mono", "4x4:RRGGRRGGGGBBGGBB", "64x64:R", "5500,1e300", "tungsten", "spot:0,0", "1/0", "2/1"}
		for range 1 + a.IntN(3) {
			a.args = append(a.args, flags[a.IntN(len(flags))], values[a.IntN(len(values))])
		}
		a.maybe("--dry-run")
		a.extra = 1 << 30 // of a model that is asked for, or --host-mem
		return nil
	}},
}

// maybe adds arguments to every third case.
func (a *attempt) maybe(args ...string) {
	if a.IntN(3) == 0 {
		a.args = append(a.args, args...)
	}
}

// damage is a damaged copy of a seed, in the way that its kind asks for.
func (a *attempt) damage(s seed) []byte {
	switch {
	case a.IntN(20) == 0:
		return s.data
	case strings.HasSuffix(s.name, ".json"):
		return mutateText(a.Rand, s.data)
	case strings.HasSuffix(s.name, ".safetensors") && a.IntN(3) > 0:
		return mutateSafetensors(a.Rand, s.data)
	case strings.HasSuffix(s.name, ".png") && a.IntN(3) > 0:
		return fixPNG(mutate(a.Rand, s.data))
	}
	return mutate(a.Rand, s.data)
}

// damagedPhoto develops one.
func (a *attempt) damagedPhoto(c *campaign) {
	s := c.files.photos[a.IntN(len(c.files.photos))]
	a.develop(a.file(s.name, a.damage(s)))
	if !strings.HasSuffix(s.name, ".dng") {
		a.args = append(a.args, "--cfa", "RGGB")
	}
}

// headerless are the arguments of a good photo.
func (a *attempt) headerless(c *campaign) []string {
	return []string{a.file("photo.raw", c.files.headerless), "--raw-size", fmt.Sprintf("%dx%d", photoW, photoH), "--cfa", "RGGB"}
}
