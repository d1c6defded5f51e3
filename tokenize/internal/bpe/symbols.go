package bpe

import "unicode/utf8"

// symbols turns words into the numbers of their first tokens.
type symbols struct {
	bytes   bool
	ascii   [128]uint32  // numbers of characters, or noSymbol
	chars   *characters  // of others; nil if symbols are bytes
	byByte  *[256]uint32 // numbers of the tokens of bytes, may be nil
	unknown uint32       // or noSymbol
	fuse    bool
}

// of appends the symbols of a word's characters. An unknown character may have no symbol.
func (s *symbols) of(dst []uint32, word []byte) []uint32 {
	// An unknown token comes before the next known character, or at the end. Tokens of bytes go
	// before it, since the library does it so.
	pending := false
	for i := 0; i < len(word); {
		r, size := rune(word[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(word[i:])
		}
		text, n := word[i:i+size], s.char(r)
		i += size
		switch {
		case n == noSymbol && s.hasBytes(text):
			for _, c := range text {
				dst = append(dst, s.byByte[c])
			}
		case n == noSymbol && s.unknown == noSymbol:
		default:
			if pending && (n != noSymbol || !s.fuse) {
				dst = append(dst, s.unknown)
			}
			if pending = n == noSymbol; !pending {
				dst = append(dst, n)
			}
		}
	}
	if pending {
		dst = append(dst, s.unknown)
	}
	return dst
}

func (s *symbols) char(r rune) uint32 {
	if r < utf8.RuneSelf {
		return s.ascii[r]
	}
	return s.chars.of(r)
}

func (s *symbols) hasBytes(text []byte) bool {
	if s.byByte == nil {
		return false
	}
	for _, c := range text {
		if s.byByte[c] == noSymbol {
			return false
		}
	}
	return true
}

// complete reports whether all characters have symbols of their own, whatever is beside them.
func (s *symbols) complete() bool {
	if s.bytes {
		return true
	}
	if s.byByte == nil {
		return false
	}
	for c, n := range s.byByte {
		if n == noSymbol && validByte(byte(c)) && (c >= utf8.RuneSelf || s.ascii[c] == noSymbol) {
			return false
		}
	}
	return true
}

// validByte reports whether UTF-8 has the byte.
func validByte(c byte) bool { return c != 0xc0 && c != 0xc1 && c < 0xf5 }

func (s *symbols) memory() int64 { return s.chars.memory() + 4*(128+256) }
