package main

import (
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/size"
)

// A byteSize is a flag that is a number of bytes.
type byteSize int64

func (b *byteSize) Set(s string) error {
	n, err := size.Bytes(s)
	*b = byteSize(n)
	return err
}

func (b *byteSize) String() string {
	if *b == 0 {
		return ""
	}
	return mem.Bytes(*b).String()
}

func (b *byteSize) Type() string { return "size" }

// A bufferSize is a flag that is a number of rows, when it is bare, or of bytes, when it has a
// unit.
type bufferSize struct {
	text        string // as it was given
	rows, bytes int64
}

func (b *bufferSize) Set(s string) (err error) {
	b.text = s
	b.rows, b.bytes, err = size.Rows(s)
	return err
}

func (b *bufferSize) String() string { return b.text }

func (b *bufferSize) Type() string { return "rows|size" }
