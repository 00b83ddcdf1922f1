package look

import (
	"enhance/raw/defects"
)

// Defects say which defective samples of the sensor are repaired before the network. The
// zero value repairs those that are found on the photo.
type Defects struct {
	Mode DefectsMode
	List *defects.List // DefectsListed
}

// DefectsMode is where defects are known from.
type DefectsMode uint8

const (
	DefectsAuto   DefectsMode = iota // found on the photo, if its filter array is Bayer's or it has none
	DefectsOff                       // none is repaired but those that the file lists
	DefectsListed                    // those of a list, and no others
)

var defectsNames = [...]string{"auto", "off", "list"}

func (m DefectsMode) String() string { return defectsNames[m] }
