package parquet

import "unicode/utf8"

// ValidUTF8 is utf8.Valid, by blocks where the processor can.
func ValidUTF8(s []byte) bool {
	whole := len(s) &^ 31
	if whole == 0 || !canValidateBlocks() {
		return utf8.Valid(s)
	}
	if !validBlocks(&s[0], whole) {
		return false
	}
	// A character that the blocks cut starts at most three bytes before their end.
	rest := whole
	for i := whole - 1; i >= whole-3; i-- {
		if s[i] >= 0xc0 {
			rest = i
		}
		if s[i] < 0x80 || s[i] >= 0xc0 {
			break
		}
	}
	return utf8.Valid(s[rest:])
}
