package farm

// Sides are the classes of photos by size: a photo is of the first class whose number its
// longer side does not exceed. The memory that a plan needs at least grows with the sides,
// so that a worker asks its planner for which classes its memory is enough, and is given
// no other photos.
var Sides = [...]int{2048, 3072, 4096, 6144, 8192, 12288, 16384, 32768, 65536, 1 << 20}

// SizeClass is the index in Sides of a photo with these sides. A photo whose sides are not
// known, for it cannot be opened, is of the first class: any worker can say so.
func SizeClass(width, height int) int {
	for i, side := range Sides {
		if max(width, height) <= side {
			return i
		}
	}
	return len(Sides) - 1
}
