package jsonl

import (
	"strconv"
	"time"

	"github.com/shardfeed/shardfeed/column"
)

const (
	secondsPerDay  = 86400
	unixJulianDay  = 2440588 // Julian day of 1970-01-01
	nanosPerSecond = 1_000_000_000
)

// temporal is the form of dates, times and timestamps.
func temporal(f *column.Field) formatter {
	perSecond, digits := resolution(f.Unit)
	switch f.Type {
	case column.TypeDate:
		return func(dst, v []byte) []byte {
			dst = appendDate(append(dst, '"'), int64(int32(le.Uint32(v))))
			return append(dst, '"')
		}
	case column.TypeTime:
		return func(dst, v []byte) []byte { return appendTime(dst, int64(le.Uint64(v)), perSecond, digits) }
	case column.TypeInt96:
		return appendInt96
	}
	utc := f.UTC
	return func(dst, v []byte) []byte {
		seconds, fraction := floorDiv(int64(le.Uint64(v)), perSecond)
		dst = appendMoment(append(dst, '"'), seconds, fraction, digits)
		if utc {
			dst = append(dst, 'Z')
		}
		return append(dst, '"')
	}
}

func resolution(u column.Unit) (perSecond int64, digits int) {
	switch u {
	case column.Micro:
		return 1_000_000, 6
	case column.Nano:
		return nanosPerSecond, 9
	}
	return 1_000, 3
}

// appendTime writes a time of day. Values outside of a day, which no writer should make, keep their
// size: 25:00:00, -00:00:01.
func appendTime(dst []byte, v, perSecond int64, digits int) []byte {
	dst = append(dst, '"')
	magnitude := uint64(v)
	if v < 0 {
		dst, magnitude = append(dst, '-'), -magnitude
	}
	seconds, fraction := int64(magnitude/uint64(perSecond)), int64(magnitude%uint64(perSecond))
	return append(appendClock(dst, seconds, fraction, digits), '"')
}

// appendInt96 writes the deprecated timestamp of Impala and Spark: nanoseconds of the day, then the
// Julian day.
func appendInt96(dst, v []byte) []byte {
	nanos, day := int64(le.Uint64(v)), int64(int32(le.Uint32(v[8:])))
	seconds, fraction := floorDiv(nanos, nanosPerSecond)
	dst = appendMoment(append(dst, '"'), (day-unixJulianDay)*secondsPerDay+seconds, fraction, 9)
	return append(dst, '"')
}

// appendMoment writes date and time of a moment in seconds since 1970, with the digits of its
// fraction.
func appendMoment(dst []byte, seconds, fraction int64, digits int) []byte {
	day, seconds := floorDiv(seconds, secondsPerDay)
	dst = append(appendDate(dst, day), 'T')
	return appendClock(dst, seconds, fraction, digits)
}

func appendClock(dst []byte, seconds, fraction int64, digits int) []byte {
	dst = appendPadded(dst, seconds/3600, 2)
	dst = appendPadded(append(dst, ':'), seconds/60%60, 2)
	dst = appendPadded(append(dst, ':'), seconds%60, 2)
	return appendPadded(append(dst, '.'), fraction, digits)
}

// appendDate writes a day, counted from 1970-01-01, of the proleptic Gregorian calendar. Year 0 is
// the year before year 1.
func appendDate(dst []byte, day int64) []byte {
	year, month, dayOfMonth := time.Unix(day*secondsPerDay, 0).UTC().Date()
	if year < 0 {
		dst, year = append(dst, '-'), -year
	}
	dst = appendPadded(dst, int64(year), 4)
	dst = appendPadded(append(dst, '-'), int64(month), 2)
	return appendPadded(append(dst, '-'), int64(dayOfMonth), 2)
}

// floorDiv divides so that the rest is never negative; d > 0.
func floorDiv(n, d int64) (quotient, rest int64) {
	quotient, rest = n/d, n%d
	if rest < 0 {
		quotient, rest = quotient-1, rest+d
	}
	return quotient, rest
}

// appendPadded writes n >= 0 with at least width digits.
func appendPadded(dst []byte, n int64, width int) []byte {
	var text [20]byte
	digits := strconv.AppendInt(text[:0], n, 10)
	for range width - len(digits) {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}
