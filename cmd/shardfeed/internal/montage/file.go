package montage

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image/png"
	"os"
	"slices"
)

// Signature is the start of each file that PNG returns.
const Signature = "\x89PNG\r\n\x1a\n"

// mark is a chunk behind the header of a PNG, by which a montage is known.
var mark = func() []byte {
	chunk := []byte("tEXtSoftware\x00shardfeed montage")
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk))
	return slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(len(chunk)-8)), chunk)
}()

const pngHeader = 8 + 25 // bytes of the signature and the first chunk

// PNG returns the page as a file.
func (p *Page) PNG() ([]byte, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, p.draw()); err != nil {
		return nil, err
	}
	return slices.Concat(b.Bytes()[:pngHeader], mark, b.Bytes()[pngHeader:]), nil
}

// Is reports whether the file at path is a montage.
func Is(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	got := make([]byte, len(mark))
	_, err = f.ReadAt(got, pngHeader)
	return err == nil && bytes.Equal(got, mark)
}
