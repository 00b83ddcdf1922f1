package facts

import (
	"image"

	"enhance/internal/sidebyside"
)

// Comparison says how two pictures differ. Samples are compared as they are stored: profiles,
// gamma and orientation that the files carry are not applied, and colours are taken for sRGB.
type Comparison struct {
	Before   string            `json:"before"`
	After    string            `json:"after"`
	Width    int               `json:"width"`
	Height   int               `json:"height"`
	Domain   string            `json:"domain"`
	CPSNR    Decibels          `json:"cpsnr"` // null: equal
	PSNR     [3]Decibels       `json:"psnr"`
	SSIM     float64           `json:"ssim"` // mean of R, G, B
	SSIMLuma float64           `json:"ssim_luma"`
	DeltaE   sidebyside.DeltaE `json:"delta_e2000"`

	Seen       *sidebyside.Result `json:"-"` // what there is to look at
	Difference *image.RGBA        `json:"-"` // the picture of colour differences, made small
}
