package jsonl

import (
	"strconv"

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

// appendMoment writes date and time of a moment in seconds since 1970 and a fraction of so many
// digits.
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
	year, month, dayOfMonth := civil(day)
	if year < 0 {
		dst, year = append(dst, '-'), -year
	}
	dst = appendPadded(dst, year, 4)
	dst = appendPadded(append(dst, '-'), month, 2)
	return appendPadded(append(dst, '-'), dayOfMonth, 2)
}

// civil turns a day into a date. Years begin in March here, so that the leap day is the last of its
// year, and come in eras of 400, which all have the same number of days.
func civil(day int64) (year, month, dayOfMonth int64) {
	const (
		daysPerEra     = 146097
		daysPerCentury = 36524
		daysPer4Years  = 1461
		marchOfYear0   = 719468 // days from 0000-03-01 to 1970-01-01
	)
	era, day := floorDiv(day+marchOfYear0, daysPerEra)
	// Each correction takes out the leap days before this one: one in 4 years, except one per
	// century, plus one per era.
	yearOfEra := (day - day/(daysPer4Years-1) + day/daysPerCentury - day/(daysPerEra-1)) / 365
	day -= 365*yearOfEra + yearOfEra/4 - yearOfEra/100
	fromMarch := (5*day + 2) / 153 // five months from March or August on have 153 days
	year, month, dayOfMonth = era*400+yearOfEra, fromMarch+3, day-(153*fromMarch+2)/5+1
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, dayOfMonth
}

// floorDiv divides so that the rest is never negative; d > 0.
func floorDiv(n, d int64) (quotient, rest int64) {
	quotient, rest = n/d, n%d
	if rest < 0 {
		quotient, rest = quotient-1, rest+d
	}
	return quotient, rest
}

// appendPadded writes n >= 0 with at least so many digits.
func appendPadded(dst []byte, n int64, width int) []byte {
	var text [20]byte
	digits := strconv.AppendInt(text[:0], n, 10)
	for range width - len(digits) {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}
