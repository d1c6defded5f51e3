package verify

import "testing"

// Steps double while what was decoded takes little of their room, and rows that are too large halve
// them for good.
func TestStep(t *testing.T) {
	s := Step{Rows: 1000, Room: 8 << 20}
	for _, c := range []struct{ bytes, want int64 }{{0, 2000}, {1 << 20, 4000}, {1<<20 + 1, 4000}, {1000, 8000}} {
		if s.decoded(c.bytes); s.Rows != c.want {
			t.Errorf("after %d bytes: %d rows, want %d", c.bytes, s.Rows, c.want)
		}
	}
	if s.tooLarge(7001); s.Rows != 3501 {
		t.Errorf("%d rows, want half of 7,001", s.Rows)
	}
	if s.decoded(0); s.Rows != 3501 {
		t.Errorf("%d rows: rows that were too large are tried again", s.Rows)
	}
}
