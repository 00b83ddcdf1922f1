// Package look has the choices of how a photo's samples are read as light and colour, with the
// texts that stand for them on command lines: [Tone], [Exposure], [WhiteBalance], [Sharpen],
// [LensCorrections], [ProfileLook], [Noise] and [Defects]. They are the fields of pipeline.Look,
// which says what they do together; the zero value of each is its default.
//
// Texts that are none of them give a raw.OptionError.
package look

import (
	"fmt"

	"enhance/raw/rawerr"
)

func optionErrorf(option, format string, args ...any) error {
	return &rawerr.OptionError{Option: option, Problem: fmt.Sprintf(format, args...)}
}
