package clrt

import "fmt"

// Seconds times what enqueue puts into the queue, which is finished before, from a
// marker before it to one after it, by the device's clock.
func (q *Queue) Seconds(enqueue func() error) (float64, error) {
	if err := q.Finish(); err != nil {
		return 0, err
	}
	first, err := q.Marker()
	if err != nil {
		return 0, err
	}
	defer first.Close()
	if err := enqueue(); err != nil {
		return 0, err
	}
	last, err := q.Marker()
	if err != nil {
		return 0, err
	}
	defer last.Close()
	if err := q.Finish(); err != nil {
		return 0, err
	}
	_, _, _, from, err := first.Times()
	if err != nil {
		return 0, err
	}
	_, _, _, to, err := last.Times()
	if err != nil {
		return 0, err
	}
	if to <= from {
		return 0, fmt.Errorf("clrt: the device's clock says that the work took %d ns", int64(to)-int64(from))
	}
	return float64(to-from) / 1e9, nil
}
