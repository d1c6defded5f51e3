package parquet

import "fmt"

// DeltaBytes walks the values of the DELTA_BYTE_ARRAY encoding: how many bytes of the value before
// begin each, and the bytes that follow.
type DeltaBytes struct {
	Prefixes, Suffixes []uint32
	B                  []byte // suffixes, one behind the other
}

// ReadDeltaBytes reads n values; lengths has room for two numbers of each.
func ReadDeltaBytes(lengths []uint32, src []byte, n int) (d DeltaBytes, err error) {
	d.Prefixes, d.Suffixes = lengths[:n], lengths[n:2*n]
	used, err := DecodeDelta(d.Prefixes, src)
	if err != nil {
		return d, err
	}
	src = src[used:]
	if used, err = DecodeDelta(d.Suffixes, src); err != nil {
		return d, err
	}
	d.B = src[used:]
	return d, nil
}

// Total is the number of bytes of all values. It fails when a prefix is longer than the value
// before or the suffixes than what is there.
func (d *DeltaBytes) Total() (int64, error) {
	total, suffixes, last := int64(0), int64(0), int64(0)
	for i, p := range d.Prefixes {
		if int64(p) > last {
			return 0, fmt.Errorf("%w: a prefix of %d bytes of a value of %d", ErrDelta, p, last)
		}
		last = int64(p) + int64(d.Suffixes[i])
		total += last
		suffixes += int64(d.Suffixes[i])
	}
	if suffixes > int64(len(d.B)) {
		return 0, fmt.Errorf("%w: values of %d bytes where %d are left", ErrDelta, suffixes, len(d.B))
	}
	return total, nil
}
