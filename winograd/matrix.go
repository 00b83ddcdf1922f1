package winograd

// Matrix is a row-major matrix of exact numbers; all rows have one length.
type Matrix [][]Surd

func newMatrix(rows, cols int) Matrix {
	m := make(Matrix, rows)
	for i := range m {
		m[i] = make([]Surd, cols)
	}
	return m
}

// identity is the n×n identity matrix.
func identity(n int) Matrix {
	m := newMatrix(n, n)
	for i := range m {
		m[i][i] = Int(1)
	}
	return m
}

// Cols is the number of columns; zero for a matrix without rows.
func (m Matrix) Cols() int {
	if len(m) == 0 {
		return 0
	}
	return len(m[0])
}

// Mul is the product m·b. Inner sizes must agree.
func (m Matrix) Mul(b Matrix) Matrix {
	p := newMatrix(len(m), b.Cols())
	for i := range m {
		for k, x := range m[i] {
			if x.IsZero() {
				continue
			}
			for j, y := range b[k] {
				if !y.IsZero() {
					p[i][j] = p[i][j].Add(x.Mul(y))
				}
			}
		}
	}
	return p
}

// MulVec is the product m·x; x has Cols() numbers.
func (m Matrix) MulVec(x []Surd) []Surd {
	y := make([]Surd, len(m))
	for i := range m {
		for j, c := range m[i] {
			if !c.IsZero() && !x[j].IsZero() {
				y[i] = y[i].Add(c.Mul(x[j]))
			}
		}
	}
	return y
}

// Equal reports that both matrices have the same size and numbers.
func (m Matrix) Equal(b Matrix) bool {
	if len(m) != len(b) || m.Cols() != b.Cols() {
		return false
	}
	for i := range m {
		for j := range m[i] {
			if !m[i][j].Equal(b[i][j]) {
				return false
			}
		}
	}
	return true
}

// Float64 is the matrix with every number rounded to float64.
func (m Matrix) Float64() [][]float64 {
	f := make([][]float64, len(m))
	for i, row := range m {
		f[i] = make([]float64, len(row))
		for j, x := range row {
			f[i][j] = x.Float64()
		}
	}
	return f
}

// kron is the Kronecker product: block (i,j) of the result is a[i][j]·b.
func kron(a, b Matrix) Matrix {
	p := newMatrix(len(a)*len(b), a.Cols()*b.Cols())
	for i := range a {
		for j, x := range a[i] {
			if x.IsZero() {
				continue
			}
			for k := range b {
				for l, y := range b[k] {
					p[i*len(b)+k][j*b.Cols()+l] = x.Mul(y)
				}
			}
		}
	}
	return p
}

// dropCols is m without its columns from n on.
func (m Matrix) dropCols(n int) Matrix {
	p := make(Matrix, len(m))
	for i := range m {
		p[i] = m[i][:n:n]
	}
	return p
}

// pickRows is the rows of m with the given indices.
func (m Matrix) pickRows(rows []int) Matrix {
	p := make(Matrix, len(rows))
	for i, r := range rows {
		p[i] = m[r]
	}
	return p
}

// pickCols is the columns of m with the given indices.
func (m Matrix) pickCols(cols []int) Matrix {
	p := newMatrix(len(m), len(cols))
	for i := range m {
		for j, c := range cols {
			p[i][j] = m[i][c]
		}
	}
	return p
}
