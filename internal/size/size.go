package size

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units of bytes by their names in lower case; a bare number is bytes too.
var units = map[string]float64{
	"b":  1,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// Parse reads 512MiB, 1.5GiB, 1GB, 64M or a plain number of bytes.
func Parse(s string) (int64, error) {
	number, unit := split(s)
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

// split cuts "1.5 GiB" into number and unit.
func split(s string) (number, unit string) {
	s = strings.TrimSpace(s)
	end := strings.LastIndexAny(s, "0123456789.") + 1
	return strings.TrimSpace(s[:end]), strings.TrimSpace(s[end:])
}

// Bytes reads a number of bytes that is not 0.
func Bytes(s string) (int64, error) {
	n, err := Parse(s)
	if err == nil && n == 0 {
		err = errors.New("must be above 0, got 0")
	}
	return n, err
}
