package block

import "unsafe"

// CopyValues copies values of the given lengths to dst, one after another, and returns their total
// bytes. dst must have room for them.
func CopyValues(dst []byte, from []unsafe.Pointer, lens []uint32) (total int) {
	for i := 0; i < len(lens); i++ {
		if canCopyBlocks && len(dst)-total > copySlack {
			n, bytes := copyBlocks(dst[total:], from[i:], lens[i:])
			i, total = i+n, total+bytes
			if i == len(lens) {
				break
			}
		}
		n := int(lens[i])
		switch {
		case canCopyBlocks && n >= copyAheadFrom:
			to := dst[total : total+n]
			copyAhead(unsafe.Pointer(unsafe.SliceData(to)), from[i], uintptr(n), from[min(i+1, len(lens)-1)])
		case n > 0:
			copy(dst[total:total+n], unsafe.Slice((*byte)(from[i]), n))
		}
		total += n
	}
	return total
}
