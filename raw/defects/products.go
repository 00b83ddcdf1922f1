package defects

// plainCenter makes mean the weighted mean of rows, whose weights have that sum, and takes it away
// from them.
func plainCenter(rows []fitRow, weight []float64, total float64, mean *fitRow) {
	weight = weight[:len(rows)]
	*mean = fitRow{}
	for i := range rows {
		w, row := weight[i], &rows[i]
		for j, x := range row {
			mean[j] += float64(w * x)
		}
	}
	for j := range mean {
		mean[j] /= total
	}
	for i := range rows {
		row := &rows[i]
		for j := range row {
			row[j] -= mean[j]
		}
	}
}

// plainProducts are the weighted sums of the products of features, of each with those after it. What
// stands before the diagonal is of no use.
func plainProducts(rows []fitRow, weight []float64, sums *[features]fitRow) {
	var weighted [maxRows]float64
	for j := range features {
		for i := range rows {
			weighted[i] = float64(weight[i] * rows[i][j])
		}
		const together = 4 // sums that are kept in registers
		for k := j / together * together; k < features+1; k += together {
			var s, t, u, v float64
			for i := range rows {
				w, r := weighted[i], rows[i][k:][:together]
				s += float64(w * r[0])
				t += float64(w * r[1])
				u += float64(w * r[2])
				v += float64(w * r[3])
			}
			sums[j][k], sums[j][k+1], sums[j][k+2], sums[j][k+3] = s, t, u, v
		}
	}
}
