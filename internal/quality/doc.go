// Package quality compares a picture with a reference: PSNR, CPSNR and SSIM.
//
// A [Meter] takes both pictures row by row, interleaved RGB, and holds eleven
// rows at most. [Compare] does it for whole pictures.
//
// Published figures are meaningless without their domain, so here it is:
//
//   - samples are compared as stored, gamma and all, in one of two domains:
//     [Domain8], both rounded to 8 bits first, peak 255, which is what papers
//     print; or [DomainFloat], not rounded, peak 1;
//   - a border may be left out on all four sides, of PSNR and SSIM alike;
//   - PSNR is 10·log10(peak²/MSE), of each channel; CPSNR pools the squared
//     errors of all three before the logarithm. Equal pictures have +Inf;
//   - SSIM is that of Wang, Bovik, Sheikh and Simoncelli, "Image Quality
//     Assessment: From Error Visibility to Structural Similarity", IEEE Trans.
//     Image Processing 13(4), 2004: Gaussian window of 11×11, σ 1.5, K1 0.01, K2
//     0.03, population variances, mean over the positions where the window lies
//     inside the picture, without the reduction in size that some programs do
//     first. It is given for each channel, for their mean, and for luma
//     0.299 R + 0.587 G + 0.114 B (not rounded).
package quality
