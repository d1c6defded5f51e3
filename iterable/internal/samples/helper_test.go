package samples

import (
	"encoding/binary"
	"hash/crc32"
)

// reseal makes the header of a segment of n entries right.
func reseal(b []byte, n uint32) {
	binary.LittleEndian.PutUint64(b[8:], uint64(len(b)))
	binary.LittleEndian.PutUint32(b[16:], n)
	binary.LittleEndian.PutUint32(b[20:], crc32.Checksum(b[countHeader:], countTable))
	binary.LittleEndian.PutUint32(b[24:], crc32.Checksum(b[:24], countTable))
}
