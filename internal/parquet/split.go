package parquet

import "github.com/shardfeed/shardfeed/internal/mem"

// DecodeSplit reads BYTE_STREAM_SPLIT values of width bytes: first the first byte of each, then the
// second, and so on.
func DecodeSplit(dst, src []byte, width int) error {
	n := len(src) / width
	if len(dst) > n*width {
		return ErrShort
	}
	switch width {
	case 4:
		a, b, c, d := src[:n], src[n:2*n], src[2*n:3*n], src[3*n:4*n]
		for i := range mem.As[uint32](dst) {
			mem.As[uint32](dst)[i] = uint32(a[i]) | uint32(b[i])<<8 | uint32(c[i])<<16 | uint32(d[i])<<24
		}
	default:
		for k := range width {
			stream := src[k*n : (k+1)*n]
			for i, at := 0, k; at < len(dst); i, at = i+1, at+width {
				dst[at] = stream[i]
			}
		}
	}
	return nil
}
