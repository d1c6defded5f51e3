package rule

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/shardfeed/shardfeed/shuffle"
)

// The bytes of a rows file. Integers are uvarints, a text is its length and bytes.
//
//	"shardfeed rows 1\n"
//	base       text: what the paths are relative to
//	shards     their number, ascending by path, and of each
//	  path       text
//	  size       in bytes
//	  version    text: etag, modification time, as its store identifies versions
//	  groups     the number of its row groups, and of each
//	    rows       of the group
//	    form       one byte, see bitset
//	    length     of the body in bytes, and the body; the forms all and none end here
//	digest     32 bytes: SHA-256 of all before
const rowsMagic = "shardfeed rows 1\n"

// maxGroupRows of a row group in a rows file: more is damage.
const maxGroupRows = 1 << 40

// A RowList lists the rows of some shards to keep: the content of a rows file. It is immutable and
// safe for concurrent use.
type RowList struct {
	manifest *shuffle.Manifest // the shards that were listed
	groups   []bitset          // of its groups
	digest   string
}

// WriteRowList writes a rows file of the shards of a manifest. keep sets the bits of the rows of a
// group that are kept, row i being bit i%64 of word i/64; it is called once for each group, in
// order, and the bits are zero before. The caller writes to another name and renames, so that no
// reader sees half a file.
func WriteRowList(w io.Writer, m *shuffle.Manifest, keep func(group int, bits []uint64) error) error {
	if err := m.Validate(); err != nil {
		return err
	}
	h := sha256.New()
	out := &rowsWriter{to: io.MultiWriter(w, h), buf: appendText([]byte(rowsMagic), m.Base), keep: keep}
	out.buf = binary.AppendUvarint(out.buf, uint64(len(m.Shards)))
	first := firstGroups(m)
	for i := range m.Shards {
		if err := out.shard(m, i, first[i], first[i+1]); err != nil {
			return err
		}
	}
	if err := out.flush(); err != nil {
		return err
	}
	_, err := w.Write(h.Sum(nil))
	return err
}

// rowsWriter writes the shards of a rows file, group by group.
type rowsWriter struct {
	to   io.Writer
	buf  []byte
	keep func(group int, bits []uint64) error
	bits []uint64
}

// shard i of a manifest, whose row groups are [first, end).
func (w *rowsWriter) shard(m *shuffle.Manifest, i, first, end int) error {
	s := m.Shards[i]
	w.buf = binary.AppendUvarint(appendText(w.buf, s.Path), uint64(s.Size))
	w.buf = binary.AppendUvarint(appendText(w.buf, s.Version), uint64(end-first))
	for g := first; g < end; g++ {
		rows := m.Groups[g].Rows
		if rows > maxGroupRows {
			return fmt.Errorf("row group %d of %s has %d rows, a rows file has at most %d", m.Groups[g].Index, s.Path, rows, maxGroupRows)
		}
		w.bits = sized(w.bits, wordsFor(int(rows)))
		clear(w.bits)
		if err := w.keep(g, w.bits); err != nil {
			return err
		}
		w.buf = newBitset(w.bits, rows).appendTo(w.buf, rows)
		if err := w.flush(); err != nil {
			return err
		}
	}
	return nil
}

func (w *rowsWriter) flush() error {
	_, err := w.to.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

func appendText(buf []byte, s string) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(s))), s...)
}

// ParseRowList reads a rows file. It keeps data, which must not change any more.
func ParseRowList(data []byte) (*RowList, error) {
	if !bytes.HasPrefix(data, []byte(rowsMagic)) {
		return nil, badRows("is not a rows file of version 1: write it with WriteRowList or the command select")
	}
	end := len(data) - sha256.Size
	if end < len(rowsMagic) {
		return nil, badRows("is a rows file that was cut short: %d bytes", len(data))
	}
	digest := sha256.Sum256(data[:end])
	if !bytes.Equal(digest[:], data[end:]) {
		return nil, badRows("is a rows file that was cut short or damaged: its digest does not match its %d bytes", len(data))
	}
	r := &rowsReader{data: data[:end], at: len(rowsMagic)}
	l := &RowList{manifest: &shuffle.Manifest{Base: r.text()}, digest: hex.EncodeToString(digest[:])}
	for i := range r.uvarint() {
		if r.shard(l, int32(i)); r.err != nil {
			break
		}
	}
	if r.err == nil && r.at != len(r.data) {
		r.err = fmt.Errorf("%d bytes follow after it", len(r.data)-r.at)
	}
	if r.err == nil {
		r.err = l.manifest.Validate()
	}
	if r.err != nil {
		return nil, badRows("is a damaged rows file, at byte %d: %w", r.at, r.err)
	}
	return l, nil
}

// Digest of the list: 64 hex digits.
func (l *RowList) Digest() string { return l.digest }

// badRows is a problem of the option that names a rows file.
func badRows(format string, args ...any) error {
	return wrong("Rows", errors.Unwrap(fmt.Errorf(format, args...)), strings.ReplaceAll(format, "%w", "%v"), args...)
}

// rowsReader reads the bytes of a rows file. The first error stays.
type rowsReader struct {
	data []byte
	at   int
	err  error
}

func (r *rowsReader) shard(l *RowList, i int32) {
	m := l.manifest
	m.Shards = append(m.Shards, shuffle.Shard{Path: r.text(), Size: r.within(1 << 62), Version: r.text()})
	for g := range r.uvarint() {
		rows := r.within(maxGroupRows)
		set := r.bitset(rows)
		if r.err != nil {
			return
		}
		m.Groups = append(m.Groups, shuffle.Group{Shard: i, Index: int32(g), Rows: rows})
		l.groups = append(l.groups, set)
	}
}

func (r *rowsReader) bitset(rows int64) bitset {
	b := bitset{form: form(r.byte())}
	if b.form != formNone && b.form != formAll {
		b.body = r.bytes(r.uvarint())
	}
	if r.err == nil {
		r.err = b.check(rows)
	}
	return b
}

func (r *rowsReader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.data[r.at:])
	if n <= 0 {
		r.err = errors.New("a number is cut short or too large")
		return 0
	}
	r.at += n
	return v
}

// within is a number of at most limit.
func (r *rowsReader) within(limit int64) int64 {
	v := r.uvarint()
	if v > uint64(limit) {
		r.err = fmt.Errorf("%d is more than %d", v, limit)
		return 0
	}
	return int64(v)
}

func (r *rowsReader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *rowsReader) bytes(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.data)-r.at) {
		r.err = fmt.Errorf("%d bytes are stated where %d are left", n, len(r.data)-r.at)
	}
	if r.err != nil {
		return nil
	}
	b := r.data[r.at : r.at+int(n)]
	r.at += int(n)
	return b
}

func (r *rowsReader) text() string { return string(r.bytes(r.uvarint())) }
