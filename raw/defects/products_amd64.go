package defects

import "golang.org/x/sys/cpu"

// hasAVX says whether four products are made at a time. The sums are the same.
var hasAVX = cpu.X86.HasAVX

func center(rows []fitRow, weight []float64, total float64, mean *fitRow) {
	if !hasAVX || len(rows) == 0 {
		plainCenter(rows, weight, total, mean)
		return
	}
	centerAVX(&rows[0], &weight[0], len(rows), total, mean)
}

func sumProducts(rows []fitRow, weight []float64, sums *[features]fitRow) {
	if !hasAVX || len(rows) == 0 {
		plainProducts(rows, weight, sums)
		return
	}
	productsAVX(&rows[0], &weight[0], len(rows), sums)
}

// centerAVX is plainCenter of n rows.
//
//go:noescape
func centerAVX(rows *fitRow, weight *float64, n int, total float64, mean *fitRow)

// productsAVX is plainProducts of n rows.
//
//go:noescape
func productsAVX(rows *fitRow, weight *float64, n int, sums *[features]fitRow)
