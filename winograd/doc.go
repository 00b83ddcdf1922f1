// Package winograd computes k×k convolutions with fewer multiplications, by
// minimal filtering.
//
// # What it computes
//
// F(m,r) gives m outputs of an r-tap correlation, y_i = Σ_k g_k·d_(i+k), from
// m+r-1 inputs with N = m+r-1 multiplications instead of m·r:
//
//	y = AT [ (G g) ⊙ (BT d) ]
//
// In two dimensions the same matrices are applied to rows and then to columns:
// U = G g Gᵀ, V = BT d B, M = Σ over input channels of U ⊙ V, y = AT M A. The
// sum over channels is N² independent matrix products, where the time goes.
//
// # Where things are
//
//   - surd.go, matrix.go: exact numbers a+b√2 and matrices of them.
//   - transform.go: New builds AT, G and BT from points and proves the identity;
//     sets.go holds the points that measure best; nest.go builds transforms of
//     long kernels from short ones.
//   - program.go, cse.go, lower.go, emit.go: a matrix becomes straight-line code
//     with shared sub-expressions, which can be interpreted exactly, run in
//     float32, or printed as OpenCL C.
//   - filter.go: weights to U.
//   - split.go: how many bytes tiles take, and how to stay under a byte cap.
//   - numerics.go: the measured error of a transform.
//   - variant.go, algo.go: the transforms that kernels exist for, and Convolution,
//     which makes them algorithms of package conv. strips.go is the form for CPUs,
//     tiled.go the one for GPUs with V and M in memory, fused.go the one without;
//     each has its kernels beside it as templates into which the generated
//     transforms are printed (sources.go). choose.go picks a variant for a shape, groups.go
//     the shapes of work-groups; named.go finds a convolution by its name.
//
// internal/points searches for good points; docs/winograd-points.md at the
// root of the repository has its results.
//
// # What it promises
//
// Every transform that New, Nest or Truncate returns satisfies the identity
// exactly, as numbers of Q(√2), for every pair of a tap and an input. The code of
// a Program equals its matrix exactly in the same sense. What is left is
// rounding, which ErrorOf measures.
//
// A convolution's result depends on the shape, the variant and the form alone: rows
// may be cut into launches anywhere at multiples of M, and a launch may have any
// size of scratch memory from the least on, without changing a bit.
//
// # Scratch memory of a launch
//
// A launch of the tiled form keeps V and M in scratch memory and takes what it is given
// (conv.Args.Scratch, or Convolution.Cap if that is less): as many rows of tiles at a time
// as fit, and, where one row does not, one row and as many input channels at a time as
// fit, whose products it adds to M in the order of channels. The implementation's
// Scratch says what a launch wants, LessScratch what it does with. To compare the two
// ways of dividing, set Cap and Split: a Cap of math.MaxInt64 divides nothing, half
// of what that takes divides by rows of tiles, and by channels with Split set to
// ByChannels.
//
// # Sources
//
//   - S. Winograd, Arithmetic Complexity of Computations, SIAM 1980: minimal
//     filtering and the bound m+r-1.
//   - The construction by interpolation at points is Toom's and Cook's (A. Toom
//     1963, S. Cook 1966), transposed to give correlation.
//   - A. Lavin, S. Gray, Fast Algorithms for Convolutional Neural Networks, 2015,
//     arXiv:1509.09308: the 2-D form over channels and tiles.
//   - B. Barabasz, A. Anderson, K. Soodhalter, D. Gregg, Error Analysis and
//     Improving the Accuracy of Winograd Convolution for Deep Neural Networks,
//     2018, arXiv:1803.10986: the choice of points decides the error.
package winograd
