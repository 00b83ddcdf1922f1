// Package eval measures how well a network or a classical program restores
// photos from a mosaic of them: demosaicing and denoising with the truth at hand.
//
//	report, err := eval.Run(ctx, eval.Options{
//		Photos: files, Border: 8,
//		Models: []pipeline.Settings{{Model: "pynet-s"}}, LibRaw: true,
//	})
//
// Every photo, a finished sRGB picture, is reduced to one colour a pixel in one of
// two domains (see [Mosaic]), and noise is added:
//
//   - sRGB: samples are the picture's codes, code/255, as papers on demosaicing
//     have it. No white balance, no curve; Gaussian noise of one sigma;
//   - sensor: samples are what a sensor would have stored: the codes' light,
//     divided by the white-balance gains, with shot and read noise, cut off at
//     saturation.
//
// The networks run through package pipeline, on the device and in the plan that a
// photo would have: on bare samples in the sRGB domain, on a DNG file in memory
// from end to end in the sensor domain. Package demosaic restores mosaics of any filter array
// without a network. LibRaw's demosaicers run through its
// program dcraw_emu on DNG files of the same samples, RawTherapee's through rawtherapee-cli. Results are compared with
// the photo by package quality, rounded to 8 bits, without a border.
//
// What is random depends on the seed and the photo's name alone.
package eval
