//go:build !amd64

package defects

const hasAVX = false

func center(rows []fitRow, weight []float64, total float64, mean *fitRow) {
	plainCenter(rows, weight, total, mean)
}

func sumProducts(rows []fitRow, weight []float64, sums *[features]fitRow) {
	plainProducts(rows, weight, sums)
}
