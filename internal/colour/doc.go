// Package colour turns camera colour into that of a picture by arithmetic alone: it knows no
// files, no cameras and no pixels' layout beyond interleaved RGB.
//
//   - camera.go: [CameraTo], the matrix from white-balanced camera RGB to
//     linear RGB of a [Space], from the calibration a DNG file carries;
//   - temperature.go: correlated colour temperature and EXIF light sources;
//   - matrix.go: 3×3 matrices, chromatic adaptation;
//   - space.go: linear RGB spaces and the matrices between them;
//   - tone.go, curve.go: [Tone], scene light rendered for a display by a [Curve];
//   - huesat.go, spline.go: [HueSatMap] and the curves of camera profiles;
//   - brightness.go: [NaturalExposure], the exposure that goes with it;
//   - srgb.go, transfer.go: transfer curves, exact and fast;
//   - encoding.go: [Encoding], what the codes of a picture mean;
//   - auto.go: [AutoWB] and [AutoExposure], from histograms.
//
// Linear light is 0..1, 1 being the white level. White-balanced camera RGB means
// black subtracted and each colour multiplied by its gain, so that a neutral
// surface has equal components. Every function is deterministic: the same input
// gives the same bits.
package colour
