package main

import (
	"strconv"

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
type bufferSize struct{ rows, bytes int64 }

func (b *bufferSize) Set(s string) error {
	rows, bytes, err := size.Rows(s)
	*b = bufferSize{rows: rows, bytes: bytes}
	return err
}

func (b *bufferSize) String() string {
	switch {
	case b.rows > 0:
		return strconv.FormatInt(b.rows, 10)
	case b.bytes > 0:
		return mem.Bytes(b.bytes).String()
	}
	return ""
}

// text is what Set was given, in one spelling; "" when it is not given.
func (b *bufferSize) text() string {
	switch {
	case b.rows > 0:
		return strconv.FormatInt(b.rows, 10)
	case b.bytes > 0:
		return strconv.FormatInt(b.bytes, 10) + "B"
	}
	return ""
}

func (b *bufferSize) Type() string { return "rows|size" }
