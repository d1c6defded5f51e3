package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// units of bytes by their names in lower case; a bare number is bytes too.
var units = map[string]float64{
	"b":  1,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// parseBytes reads 512MiB, 1.5GiB, 1GB, 64M or a plain number of bytes.
func parseBytes(s string) (int64, error) {
	number, unit := splitUnit(s)
	scale, known := units[strings.ToLower(unit)]
	if unit == "" {
		scale, known = 1, true
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && known && n >= 0 && float64(n)*scale < math.MaxInt64 {
		return n * int64(scale), nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !known || unit == "" || f < 0 || f*scale >= math.MaxInt64 {
		return 0, fmt.Errorf("must be bytes, as in 512MiB, 1.5GiB, 1GB or 1048576, got %q", s)
	}
	return int64(f * scale), nil
}

// splitUnit cuts "1.5 GiB" into number and unit.
func splitUnit(s string) (number, unit string) {
	s = strings.TrimSpace(s)
	end := strings.LastIndexAny(s, "0123456789.") + 1
	return strings.TrimSpace(s[:end]), strings.TrimSpace(s[end:])
}

var errAboveZero = errors.New("must be above 0, got 0")

// A byteSize is a flag that is a number of bytes.
type byteSize int64

func (b *byteSize) Set(s string) error {
	n, err := parseBytes(s)
	if err == nil && n == 0 {
		err = errAboveZero
	}
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

// A bufferSize is a flag that is a number of rows, when it is bare, or of bytes, when it has a unit.
type bufferSize struct{ rows, bytes int64 }

func (b *bufferSize) Set(s string) error {
	_, unit := splitUnit(s)
	n, err := parseBytes(s)
	switch {
	case err != nil:
		return fmt.Errorf("must be rows, as in 100000, or bytes, as in 512MiB, got %q", s)
	case n == 0:
		return errAboveZero
	case unit == "":
		*b = bufferSize{rows: n}
	default:
		*b = bufferSize{bytes: n}
	}
	return nil
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

func (b *bufferSize) Type() string { return "rows|size" }
