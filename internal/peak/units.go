package peak

import (
	"fmt"
	"strings"

	"enhance/clrt"
)

// Units are what a device's arithmetic units were measured to do, in floating-point
// operations a second; 0 for units that it lacks.
type Units struct {
	FMA       float64 `json:"fma"`
	MMA       float64 `json:"mma,omitempty"`           // matrix units on binary16
	TF32      float64 `json:"mma_tf32,omitempty"`      // and on tf32
	Codes     float64 `json:"mma_int8,omitempty"`      // and on integers of 8 bits
	Warpgroup float64 `json:"mma_warpgroup,omitempty"` // Hopper's, for four warps together, on binary16
}

// Measure measures the units: the float32 ones, and matrix units where conv/mma has
// found some, Hopper's where conv/wgmma has.
func Measure(ctx *clrt.Context, matrix, warpgroup bool) (u Units, err error) {
	for _, unit := range []struct {
		has     bool
		into    *float64
		measure func() (float64, error)
	}{
		{true, &u.FMA, func() (float64, error) { return FMA(ctx) }},
		{matrix, &u.MMA, func() (float64, error) { return MMA(ctx, FP16) }},
		{matrix, &u.TF32, func() (float64, error) { return MMA(ctx, TF32) }},
		{matrix, &u.Codes, func() (float64, error) { return MMA(ctx, Codes) }},
		{warpgroup, &u.Warpgroup, func() (float64, error) { return Warpgroup(ctx) }},
	} {
		if !unit.has {
			continue
		}
		g, err := unit.measure()
		if err != nil {
			return u, err
		}
		*unit.into = g * 1e9
	}
	return u, nil
}

// Of is the peak that an algorithm's rate is a share of, by its name, and the
// unit; 0 if it was not measured. Three products of tf32 that stand for one of float32
// are a third of tf32's.
func (u Units) Of(algo string) (peak float64, unit string) {
	switch {
	case strings.HasPrefix(algo, "mma-3xtf32"):
		return u.TF32 / 3, "MMA tf32 /3"
	case strings.HasPrefix(algo, "mma-tf32"):
		return u.TF32, "MMA tf32"
	case strings.HasPrefix(algo, "mma-codes"):
		return u.Codes, "MMA int8"
	case strings.HasPrefix(algo, "mma"):
		return u.MMA, "MMA fp16"
	case strings.HasPrefix(algo, "wgmma"), strings.HasPrefix(algo, "octets"):
		return u.Warpgroup, "wgmma fp16"
	}
	return u.FMA, "FMA"
}

func (u Units) String() string {
	if u.FMA <= 0 {
		return ""
	}
	s := fmt.Sprintf("%.0f GFLOP/s of FMA", u.FMA/1e9)
	if u.MMA > 0 {
		s += fmt.Sprintf(", %.0f of MMA on fp16, %.0f on tf32", u.MMA/1e9, u.TF32/1e9)
	}
	if u.Codes > 0 {
		s += fmt.Sprintf(", %.0f on int8", u.Codes/1e9)
	}
	if u.Warpgroup > 0 {
		s += fmt.Sprintf(", %.0f of wgmma", u.Warpgroup/1e9)
	}
	return s
}
