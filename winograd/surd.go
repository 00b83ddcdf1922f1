package winograd

import (
	"fmt"
	"math/big"
)

// Surd is the number a + b√2 with rational a and b: the field Q(√2), closed
// under + − × ÷ and exact. The zero value is 0. A Surd is never changed after
// it is made, so copies may share storage.
type Surd struct{ a, b *big.Rat }

var zeroRat = new(big.Rat) // read only: what a nil part stands for

// Frac is the rational p/q. Like big.NewRat it panics if q is zero.
func Frac(p, q int64) Surd { return Surd{a: big.NewRat(p, q)} }

// Int is the integer n.
func Int(n int64) Surd { return Frac(n, 1) }

// Root2 is (p/q)·√2; Root2(1, 2) is √½. It panics if q is zero.
func Root2(p, q int64) Surd { return Surd{b: big.NewRat(p, q)} }

func (x Surd) ra() *big.Rat {
	if x.a == nil {
		return zeroRat
	}
	return x.a
}

func (x Surd) rb() *big.Rat {
	if x.b == nil {
		return zeroRat
	}
	return x.b
}

// Add is x + y.
func (x Surd) Add(y Surd) Surd {
	return Surd{new(big.Rat).Add(x.ra(), y.ra()), new(big.Rat).Add(x.rb(), y.rb())}
}

// Neg is −x.
func (x Surd) Neg() Surd {
	return Surd{new(big.Rat).Neg(x.ra()), new(big.Rat).Neg(x.rb())}
}

// Sub is x − y.
func (x Surd) Sub(y Surd) Surd { return x.Add(y.Neg()) }

// Mul is x·y: (a+b√2)(c+d√2) = ac+2bd + (ad+bc)√2.
func (x Surd) Mul(y Surd) Surd {
	ac := new(big.Rat).Mul(x.ra(), y.ra())
	bd := new(big.Rat).Mul(x.rb(), y.rb())
	ad := new(big.Rat).Mul(x.ra(), y.rb())
	bc := new(big.Rat).Mul(x.rb(), y.ra())
	ac.Add(ac, bd).Add(ac, bd)
	return Surd{ac, ad.Add(ad, bc)}
}

// Inv is 1/x, by the conjugate: (a−b√2)/(a²−2b²). The norm a²−2b² is zero only
// for zero, because √2 is irrational. Inv of zero panics, as division by a zero
// big.Rat does.
func (x Surd) Inv() Surd {
	n := x.norm()
	a := new(big.Rat).Quo(x.ra(), n)
	b := new(big.Rat).Quo(x.rb(), n)
	return Surd{a, b.Neg(b)}
}

// Quo is x/y; y must not be zero.
func (x Surd) Quo(y Surd) Surd { return x.Mul(y.Inv()) }

// norm is a²−2b².
func (x Surd) norm() *big.Rat {
	aa := new(big.Rat).Mul(x.ra(), x.ra())
	bb := new(big.Rat).Mul(x.rb(), x.rb())
	return aa.Sub(aa, bb).Sub(aa, bb)
}

// Sign is −1, 0 or 1 as x is negative, zero or positive.
func (x Surd) Sign() int {
	sa, sb := x.ra().Sign(), x.rb().Sign()
	switch {
	case sb == 0 || sa == sb:
		return sa
	case sa == 0:
		return sb
	}
	// Signs differ: the part with the larger square decides.
	return sa * x.norm().Sign()
}

// Cmp is the sign of x − y.
func (x Surd) Cmp(y Surd) int { return x.Sub(y).Sign() }

// Abs is |x|.
func (x Surd) Abs() Surd {
	if x.Sign() < 0 {
		return x.Neg()
	}
	return x
}

// IsZero reports x = 0.
func (x Surd) IsZero() bool { return x.ra().Sign() == 0 && x.rb().Sign() == 0 }

// Equal reports x = y.
func (x Surd) Equal(y Surd) bool {
	return x.ra().Cmp(y.ra()) == 0 && x.rb().Cmp(y.rb()) == 0
}

// unit is 1 or −1 if x is that number, else 0.
func (x Surd) unit() int {
	if x.rb().Sign() != 0 || !x.ra().IsInt() || !x.ra().Num().IsInt64() {
		return 0
	}
	if n := x.ra().Num().Int64(); n == 1 || n == -1 {
		return int(n)
	}
	return 0
}

// dyadic reports that x is an integer divided by a power of two, and so a
// constant that float32 usually holds without rounding.
func (x Surd) dyadic() bool {
	if x.rb().Sign() != 0 {
		return false
	}
	d := x.ra().Denom()
	return d.TrailingZeroBits() == uint(d.BitLen()-1)
}

// bigFloat is x to far more digits than a float64 holds, so that cancellation
// between the two parts does not reach the rounded result.
func (x Surd) bigFloat() *big.Float {
	const prec = 256
	root := new(big.Float).SetPrec(prec).SetInt64(2)
	root.Sqrt(root)
	a := new(big.Float).SetPrec(prec).SetRat(x.ra())
	b := new(big.Float).SetPrec(prec).SetRat(x.rb())
	return a.Add(a, b.Mul(b, root))
}

// Float64 is x rounded to the nearest float64.
func (x Surd) Float64() float64 { f, _ := x.bigFloat().Float64(); return f }

// Float32 is x rounded once, to the nearest float32.
func (x Surd) Float32() float32 { f, _ := x.bigFloat().Float32(); return f }

// String is a canonical form: equal numbers have equal strings.
func (x Surd) String() string {
	a, b := x.ra().RatString(), x.rb().RatString()
	switch {
	case b == "0":
		return a
	case a == "0":
		return b + "·√2"
	}
	return fmt.Sprintf("%s%s·√2", a, signed(x.rb()))
}

func signed(r *big.Rat) string {
	if r.Sign() < 0 {
		return r.RatString()
	}
	return "+" + r.RatString()
}
