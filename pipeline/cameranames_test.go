package pipeline

import "testing"

func TestSameCamera(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"Canon EOS 550D", "canon eos-550d", true}, {"EOS 550D", "Canon EOS 550D", true}, {"Canon EOS 550D", "EOS 550D", true},
		{"NIKON D70", "NIKON D70s", false}, {"Canon EOS 550D", "Canon EOS 50D", false}, {"Canon EOS 5D Mark II", "Mark II", false},
		{"X-T1", "FUJIFILM X-T1", true}, {"X-T10", "FUJIFILM X-T1", false}, {"Maker M1", "Maker M-1", true}, {"", "Canon EOS 550D", false},
		{"Canon EOS Kiss X4", "EOS 550D", true}, {"Canon EOS REBEL T2i", "Canon EOS Kiss X4", true}, {"Canon EOS Kiss X5", "Canon EOS 550D", false},
		{"Canon EOS Kiss X9i", "Canon EOS 200D", false}, {"EOS 9000D", "Canon EOS 77D", true},
	} {
		if got := sameCamera(tt.a, tt.b); got != tt.want {
			t.Errorf("%q and %q: %v", tt.a, tt.b, got)
		}
	}
}
