package raw

import "enhance/raw/defects"

// RepairDefects makes ReadRows repair defective samples from now on: those that it finds,
// or only those of a list if that is not nil. The file's own lists of bad pixels
// (FixBadPixelsList, FixBadPixelsConstant) are always obeyed, before. What is found is
// noted in the result as rows are read. Of a linear photo nothing can be repaired: the
// result is nil.
func (p *Photo) RepairDefects(list *defects.List) *defects.Found {
	if p.rows == nil {
		return nil
	}
	r := defects.New(&p.meta, p.rows.ReadRows, list)
	p.rows = r
	return r.Found()
}
