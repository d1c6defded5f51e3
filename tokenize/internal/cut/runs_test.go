package cut

import (
	"bytes"
	"testing"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
)

// Each byte at each place of a text, also after its end, is found only where it is a digit or wide.
func TestFirstByte(t *testing.T) {
	const most = 20
	for c := range 256 {
		digit, wide := c >= '0' && c <= '9', c >= 0x80
		for at := range most {
			text := bytes.Repeat([]byte("x"), most)
			text[at] = byte(c)
			v := char.Of(char.Pad(nil, text))
			for end := range most + 1 {
				for p := range end + 1 {
					wantDigit, wantWide, inside := end, end, p <= at && at < end
					if inside && (digit || wide) {
						wantDigit = at
					}
					if inside && wide {
						wantWide = at
					}
					if d, w := toDigit(v, p, end), toWide(v, p, end); d != wantDigit || w != wantWide {
						t.Fatalf("%#x at %d of %d to %d: toDigit %d, want %d; toWide %d, want %d", c, at, p, end, d, wantDigit, w, wantWide)
					}
				}
			}
		}
	}
}
