// Package demosaic makes red, green and blue of a mosaic behind any filter array of
// package mosaic: Fujifilm's X-Trans, quad-Bayer, Bayer. It is for sensors that no
// network is trained for, and what networks are compared with. It needs no device.
//
// Start at New; Demosaicer.Rows does the work, strip by strip.
//
// # Method
//
// A missing colour is the best linear unbiased prediction of it from the samples
// around it, as geostatistics predicts a variable from scattered samples of several
// (ordinary cokriging: Wackernagel, Multivariate Geostatistics, 3rd edition, chapter
// 24). It needs to know how samples a vector d apart are alike. Two covariances say so:
// that of light, which all colours share, and that of the colours' differences from
// it, which are smoother. Both are powers of |d| (see prior). This is the assumption
// that all demosaicing rests on; Trussell and Hartley ("Primary demosaicing", IEEE
// Transactions on Image Processing 11(8), 2002) derive linear filters of such priors
// for Bayer's array. The weights of a filter follow from the places and colours of its
// samples alone, so that an array of any period has its filters: one for each place in
// the period and each colour that is missing there. The weights of a colour's own
// samples add up to 1 and those of another's to 0, so that flat colours come back exactly.
//
// Edges have a direction, along which |d| is shorter. There is a set of filters for
// each of several directions (see effort), and one for no direction. Which set holds at a pixel
// is measured: each sample that is there is predicted from its neighbours by each set,
// and the squared errors are summed over a window (cross-validation). The result is the
// mean of the sets' predictions, weighted by the inverse of these sums to the third
// power. Choosing linear estimators by local evidence is the idea of
// Yu, Sapiro and Mallat ("Solving inverse problems with piecewise linear estimators",
// IEEE Transactions on Image Processing 21(5), 2012).
//
// Samples should be on a scale near the eye's (a gamma curve), white-balanced. Noise
// is neither measured nor removed.
package demosaic
