package ahead

import "testing"

func TestPartEnds(t *testing.T) {
	for n := 1; n < 40; n++ {
		for parts := 1; parts <= min(8, n); parts++ {
			part := 0
			for s := range n {
				if s*parts/n != part {
					if got := PartEnd(n, parts, part); got != s {
						t.Fatalf("%d rows in %d parts: part %d ends at %d, want %d", n, parts, part, got, s)
					}
					part++
				}
			}
			if got := PartEnd(n, parts, parts-1); got != n {
				t.Fatalf("the last of %d parts ends at %d of %d", parts, got, n)
			}
		}
	}
}
