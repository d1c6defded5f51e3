package delta

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
)

const z85Letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

var errZ85 = errors.New("a text is not of base 85")

// decodeZ85 decodes ZeroMQ's base 85: each five characters are four bytes.
func decodeZ85(s string) ([]byte, error) {
	if len(s)%5 != 0 {
		return nil, errZ85
	}
	b := make([]byte, 0, len(s)/5*4)
	for ; s != ""; s = s[5:] {
		n := uint64(0)
		for i := range 5 {
			digit := strings.IndexByte(z85Letters, s[i])
			if digit < 0 {
				return nil, errZ85
			}
			n = 85*n + uint64(digit)
		}
		if n > math.MaxUint32 {
			return nil, errZ85
		}
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b, nil
}
