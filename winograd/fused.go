package winograd

import (
	"enhance/conv"
	"errors"
)

func newFused(c Convolution, t *compiled, caps conv.Caps, s conv.Shape) (conv.Impl, error) {
	return nil, errors.New("x")
}
