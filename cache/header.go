package cache

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/internal/crc"
)

// Layout of a shard file's header; doc.go has the table.
const (
	magic     = "SFCACHE1" // of a shard's own bytes
	magicOf   = "SFDECOD1" // of bytes that were decoded of it
	sizeAt    = 8
	blockAt   = 16
	headerAt  = 20
	uriAt     = 24
	versionAt = 28
	sumAt     = 32
	damagesAt = 36
	usedAt    = 40
	untilAt   = 48
	byAt      = 56
	namesAt   = 64

	headerPage = 4096 // a header is a multiple of this
)

var errHeader = errors.New("not a shard file of this cache")

func headerBytes(uri, version int) int64 {
	return int64(namesAt+uri+version+headerPage-1) / headerPage * headerPage
}

// A fileLayout gives the offsets and sizes of the parts of a shard file.
type fileLayout struct {
	header int64 // size of the header and offset of the table
	table  int64 // bytes of the table
	data   int64 // offset of the shard's first byte, a multiple of blockSize
	size   int64 // of the shard
}

// fileLayoutOf computes the layout from the key.
func fileLayoutOf(k key) fileLayout {
	l := fileLayout{header: headerBytes(len(k.uri), len(k.headerVersion())), table: 8 * blocksOf(k.size), size: k.size}
	l.data = (l.header + l.table + blockSize - 1) / blockSize * blockSize
	return l
}

// head returns the size of header and table, rounded up to pages: the part that is allocated when
// the file is made.
func (l fileLayout) head() int64 {
	return (l.header + l.table + headerPage - 1) / headerPage * headerPage
}

func (l fileLayout) file() int64 { return l.data + l.size }

// headerVersion returns the version field of the header. For decoded bytes their form and the size
// of the shard precede the version, because the size of the space does not determine them.
func (k key) headerVersion() string {
	if k.decoded() {
		return k.form + "\x00" + k.versionText()
	}
	return k.version
}

// encodeHeader returns the header of a key, without a stamp.
func encodeHeader(k key) []byte {
	version := k.headerVersion()
	b := make([]byte, headerBytes(len(k.uri), len(version)))
	copy(b, magic)
	if k.decoded() {
		copy(b, magicOf)
	}
	binary.LittleEndian.PutUint64(b[sizeAt:], uint64(k.size))
	binary.LittleEndian.PutUint32(b[blockAt:], blockSize)
	binary.LittleEndian.PutUint32(b[headerAt:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b[uriAt:], uint32(len(k.uri)))
	binary.LittleEndian.PutUint32(b[versionAt:], uint32(len(version)))
	copy(b[namesAt:], k.uri)
	copy(b[namesAt+len(k.uri):], version)
	binary.LittleEndian.PutUint32(b[sumAt:], headerSum(b))
	return b
}

// headerSum covers the header except the sum itself, the count of damages and the stamp.
func headerSum(b []byte) uint32 { return crc.Append(crc.Of(b[:sumAt]), b[namesAt:]) }

// headerLength returns the length of the header, given a file's first namesAt bytes.
func headerLength(b []byte) (int64, error) {
	if len(b) < namesAt || string(b[:len(magic)]) != magic && string(b[:len(magic)]) != magicOf {
		return 0, errHeader
	}
	n := int64(binary.LittleEndian.Uint32(b[headerAt:]))
	uri, version := binary.LittleEndian.Uint32(b[uriAt:]), binary.LittleEndian.Uint32(b[versionAt:])
	if uri > maxName || version > maxName || n != headerBytes(int(uri), int(version)) {
		return 0, errHeader
	}
	return n, nil
}

// parseHeader reads the key out of a whole header. The key has no file name.
func parseHeader(b []byte) (key, error) {
	n, err := headerLength(b)
	if err != nil {
		return key{}, err
	}
	size := binary.LittleEndian.Uint64(b[sizeAt:])
	if int64(len(b)) != n || size == 0 || size > maxSize || binary.LittleEndian.Uint32(b[blockAt:]) != blockSize ||
		binary.LittleEndian.Uint32(b[sumAt:]) != headerSum(b) {
		return key{}, errHeader
	}
	end := namesAt + binary.LittleEndian.Uint32(b[uriAt:])
	k := key{
		uri:     string(b[namesAt:end]),
		version: string(b[end : end+binary.LittleEndian.Uint32(b[versionAt:])]),
		size:    int64(size),
	}
	if string(b[:len(magic)]) == magicOf {
		return k.parseHeaderVersion()
	}
	return k, nil
}

// parseHeaderVersion finds the form, and the shard's size and version, in the version of decoded
// bytes.
func (k key) parseHeaderVersion() (key, error) {
	form, text, _ := strings.Cut(k.version, "\x00")
	size, version, ok := strings.Cut(text, "\x00")
	n, err := strconv.ParseInt(size, 10, 64)
	if !ok || err != nil || n <= 0 || n > maxSize || len(form) > maxForm || !formName.MatchString(form) {
		return key{}, errHeader
	}
	k.shardSize, k.version, k.form = n, version, form
	return k, nil
}

// sameHeader compares the parts of two headers that never change.
func sameHeader(a, b []byte) bool {
	return len(a) == len(b) && string(a[:damagesAt]) == string(b[:damagesAt]) && string(a[namesAt:]) == string(b[namesAt:])
}

func leInt(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }

func leBytes(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }
