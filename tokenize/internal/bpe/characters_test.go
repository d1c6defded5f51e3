package bpe

import "testing"

// TestCharacters: numbers of characters, and of their neighbours that have none.
func TestCharacters(t *testing.T) {
	c := newCharacters()
	want := map[rune]uint32{0x80: 1, 0xff: 2, 0x4e00: 3, 0x10ffff: 4}
	for r, n := range want {
		c.set(r, n)
	}
	for r := range want {
		for _, near := range []rune{r - 1, r, min(r+1, codePoints-1), r ^ pageSize} {
			n, ok := want[near]
			if !ok {
				n = noSymbol
			}
			if got := c.of(near); got != n {
				t.Errorf("%U has the number %d, want %d", near, got, n)
			}
		}
	}
}
