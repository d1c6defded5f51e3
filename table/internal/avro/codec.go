package avro

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// maxBlock is the size of the largest block, in bytes without compression.
const maxBlock = 512 << 20

var errLarge = fmt.Errorf("a block has more than %d MiB", maxBlock>>20)

// A codec returns the content of a block. It may use the memory of buffer.
type codec func(buffer, block []byte) ([]byte, error)

func codecOf(name string) (codec, error) {
	switch name {
	case "", "null":
		return func(_, block []byte) ([]byte, error) { return block, nil }, nil
	case "deflate":
		return inflater(), nil
	case "snappy":
		return unsnap, nil
	case "zstandard":
		return unzstd, nil
	}
	return nil, fmt.Errorf("the Avro codec %q cannot be read, only null, deflate, snappy and zstandard", name)
}

func inflater() codec {
	inflate := flate.NewReader(nil)
	return func(buffer, block []byte) ([]byte, error) {
		if err := inflate.(flate.Resetter).Reset(bytes.NewReader(block), nil); err != nil {
			return nil, err
		}
		out := bytes.NewBuffer(buffer)
		n, err := io.Copy(out, io.LimitReader(inflate, maxBlock+1))
		if n > maxBlock {
			err = errLarge
		}
		return out.Bytes(), err
	}
}

// unsnap also checks the CRC that Avro puts behind a block.
func unsnap(buffer, block []byte) ([]byte, error) {
	if len(block) < 4 {
		return nil, errors.New("it is cut short")
	}
	sum := binary.BigEndian.Uint32(block[len(block)-4:])
	block = block[:len(block)-4]
	n, err := snappy.DecodedLen(block)
	switch {
	case err != nil:
		return nil, err
	case n > maxBlock:
		return nil, errLarge
	}
	out, err := snappy.Decode(buffer[:cap(buffer)], block)
	if err == nil && crc32.ChecksumIEEE(out) != sum {
		err = errors.New("the checksum of a block does not match")
	}
	return out, err
}

func unzstd(buffer, block []byte) ([]byte, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll(block, buffer)
}
