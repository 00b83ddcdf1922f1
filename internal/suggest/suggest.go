// Package suggest finds the known name that a mistyped one was probably meant to be.
package suggest

import "strings"

// Nearest returns the known name that the fewest insertions, deletions, replacements and
// swaps of neighbouring characters make of word (the optimal string alignment distance,
// a form of Damerau's, CACM 7(3), 1964), and "" if none is near: one edit for words of up
// to five characters, a third of their length for others. Letter case counts as no edit.
// Of equally near names it returns the first. Where no name is near, it returns the first
// that word begins with or that begins with word, if both have three characters or more.
func Nearest(word string, known []string) string {
	most := max(1, len(word)/3)
	if len(word) < 2 {
		return ""
	}
	best, nearest := most+1, ""
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k), best); d < best {
			best, nearest = d, k
		}
	}
	if nearest != "" {
		return nearest
	}
	for _, k := range known {
		if min(len(word), len(k)) >= 3 && (strings.HasPrefix(word, k) || strings.HasPrefix(k, word)) {
			return k
		}
	}
	return ""
}

// Question is ": did you mean NAME?" for the nearest known name, "" if none is near.
func Question(word string, known []string) string {
	if n := Nearest(word, known); n != "" {
		return ": did you mean " + n + "?"
	}
	return ""
}

// distance is the optimal string alignment distance of two strings of bytes, or at least
// limit if it is that much.
func distance(a, b string, limit int) int {
	if abs(len(a)-len(b)) >= limit {
		return limit
	}
	before, last, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(last[j]+1, next[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, last, next = last, next, before
	}
	return last[len(b)]
}

func abs(n int) int { return max(n, -n) }
