package table

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// Bytes is the memory of the deleted rows. s may be nil.
func (s *Snapshot) Bytes() (n int64) {
	if s == nil {
		return 0
	}
	for i := range s.Files {
		n += s.Files[i].Deleted.Bytes()
	}
	return n
}

// Empty explains that a snapshot has no live rows, as a text that continues a sentence; "" if it may
// have some. s may be nil.
func (s *Snapshot) Empty() string {
	switch {
	case s == nil:
	case len(s.Files) == 0:
		return fmt.Sprintf(": the %s table has no files in snapshot %s; if it should have rows, check its location, or read an earlier snapshot", s.Format, s.Name)
	case !slices.ContainsFunc(s.Files, func(f File) bool { return f.Rows != f.Deleted.Len() }):
		return fmt.Sprintf(": the %s table has only deleted rows in snapshot %s; read an earlier one", s.Format, s.Name)
	}
	return ""
}

// A Live is the rows that a snapshot did not delete, by the row groups of its files. It is
// immutable.
type Live struct {
	files []File
	file  []int32 // of each group
	first []int64 // the number of its first row in the file
}

// NewLive returns the live rows of files, of whose row groups these are the files and the numbers
// of rows, in order; nil if no row is deleted.
func NewLive(files []File, file []int32, rows []int64) *Live {
	l := &Live{files: files, file: file, first: make([]int64, len(rows))}
	deleted, at := int64(0), int64(0)
	for g, n := range rows {
		if g == 0 || file[g] != file[g-1] {
			at = 0
		}
		l.first[g] = at
		at += n
	}
	for i := range files {
		deleted += files[i].Deleted.Len()
	}
	if deleted == 0 {
		return nil
	}
	return l
}

// Has reports whether a row of a group is live. In a nil Live each row is.
func (l *Live) Has(group int, row int64) bool {
	return l == nil || !l.files[l.file[group]].Deleted.Has(l.first[group]+row)
}

// And clears the bits of rows [lo, hi) of a group that are deleted; row lo is bit 0 of word 0.
func (l *Live) And(group int, lo, hi int64, keep []uint64) {
	r := &l.files[l.file[group]].Deleted
	if r.Len() == 0 {
		return
	}
	first := l.first[group]
	for i, row := 0, lo; row < hi; i, row = i+1, row+64 {
		keep[i] &^= r.Word(first + row)
	}
}

// Count is how many of rows [lo, hi) of a group are live.
func (l *Live) Count(group int, lo, hi int64) int64 {
	r := &l.files[l.file[group]].Deleted
	n := hi - lo
	if r.Len() == 0 {
		return n
	}
	first := l.first[group]
	for row := lo; row < hi; row += 64 {
		w := r.Word(first + row)
		if left := hi - row; left < 64 {
			w &= 1<<left - 1
		}
		n -= int64(bits.OnesCount64(w))
	}
	return n
}

// Digest identifies the deleted rows of a file; nil without any.
func (l *Live) Digest(file int) []byte {
	r := &l.files[file].Deleted
	if r.Len() == 0 {
		return nil
	}
	h := sha256.New()
	h.Write(r.bytes())
	return h.Sum(nil)
}

// bytes are the words, without zeros at the end.
func (r *Rows) bytes() (b []byte) {
	n := len(r.words)
	for n > 0 && r.words[n-1] == 0 {
		n--
	}
	for _, w := range r.words[:n] {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// rowsOf is the set that has these bytes; ok is false if they are not of a set.
func rowsOf(b []byte) (r Rows, ok bool) {
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		r.words, r.n = append(r.words, w), r.n+int64(bits.OnesCount64(w))
	}
	return r, len(b) == 0
}
