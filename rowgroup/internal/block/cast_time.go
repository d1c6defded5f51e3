package block

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

const (
	nanosPerDay   = 86_400_000_000_000
	julianUnixDay = 2_440_588 // 1970-01-01
)

// unitNanos is the nanoseconds of a unit.
func unitNanos(u column.Unit) int64 {
	return [...]int64{column.Milli: 1e6, column.Micro: 1e3, column.Nano: 1}[u]
}

// unitOf is the nanoseconds that a value of a date, time or timestamp counts, 0 for other types.
func unitOf(f *column.Field) int64 {
	switch f.Type {
	case column.TypeDate:
		return nanosPerDay
	case column.TypeTime, column.TypeTimestamp:
		return unitNanos(f.Unit)
	}
	return 0
}

// An instant is days since 1970-01-01 and nanoseconds of the day.
type instant struct{ day, nanos int64 }

// int96At reads an INT96 timestamp. Some writers let the nanoseconds run over the day.
func int96At(src unsafe.Pointer) instant {
	b := unsafe.Slice((*byte)(src), 12)
	day := int64(int32(binary.LittleEndian.Uint32(b[8:]))) - julianUnixDay
	over, nanos := floorDiv(int64(binary.LittleEndian.Uint64(b)), nanosPerDay)
	return instant{day + over, nanos}
}

// instantOf returns the instant v units of unit nanoseconds after 1970.
func instantOf(v, unit int64) instant {
	day, rest := floorDiv(v, nanosPerDay/unit)
	return instant{day, rest * unit}
}

// put writes an INT96 timestamp; ok is false where its 32-bit day does not hold the instant.
func (i instant) put(dst unsafe.Pointer) (ok bool) {
	b := unsafe.Slice((*byte)(dst), 12)
	day := i.day + julianUnixDay
	binary.LittleEndian.PutUint64(b, uint64(i.nanos))
	binary.LittleEndian.PutUint32(b[8:], uint32(day))
	return day == int64(int32(day))
}

// in counts whole units of unit nanoseconds since 1970; ok is false if int64 does not hold them. An
// instant between two units belongs to the earlier.
func (i instant) in(unit int64) (v int64, ok bool) {
	day, nanos := i.day, i.nanos
	if day < 0 { // toward zero, so that the least int64 has a product that fits
		day, nanos = day+1, nanos-nanosPerDay
	}
	whole, ok := times(day, nanosPerDay/unit)
	rest, _ := floorDiv(nanos, unit)
	sum := whole + rest
	return sum, ok && (rest < 0) == (sum < whole)
}

// String is the instant as ISO 8601 has it.
func (i instant) String() string {
	return time.Unix(i.day*86_400, i.nanos).UTC().Format("2006-01-02T15:04:05.999999999")
}

// floorDiv divides so that the rest is not negative; d is positive.
func floorDiv(n, d int64) (quotient, rest int64) {
	quotient, rest = n/d, n%d
	if rest < 0 {
		quotient, rest = quotient-1, rest+d
	}
	return quotient, rest
}

// times multiplies by a positive number; ok is false where int64 does not hold the product.
func times(n, by int64) (product int64, ok bool) {
	hi, lo := bits.Mul64(uint64(n), uint64(by))
	if n < 0 {
		hi -= uint64(by)
	}
	return int64(lo), int64(hi) == int64(lo)>>63
}

// timeKernel converts dates, times and timestamps to units of a timestamp; nil for other types.
func timeKernel(from *column.Field, to column.Unit) kernel {
	unit := unitNanos(to)
	switch from.Type {
	case column.TypeInt96:
		return int96In(unit)
	case column.TypeDate:
		return inUnits[int32](unitOf(from), unit)
	case column.TypeTimestamp:
		return inUnits[int64](unitOf(from), unit)
	}
	return nil
}

// int96In returns the kernel that counts INT96 timestamps in units of unit nanoseconds.
func int96In(unit int64) kernel {
	return func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, _ *CastScratch) (misfit bool) {
		for i := range n {
			v, ok := int96At(unsafe.Add(src, 12*i)).in(unit)
			misfit = misfit || !ok
			*(*int64)(unsafe.Add(dst, 8*i*stride)) = v
		}
		return misfit
	}
}

// inUnits changes the nanoseconds that a value counts.
func inUnits[S int32 | int64](from, to int64) kernel {
	return func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, _ *CastScratch) (misfit bool) {
		for i, x := range unsafe.Slice((*S)(src), n) {
			v, ok := int64(x), true
			if from >= to {
				v, ok = times(v, from/to)
			} else {
				v, _ = floorDiv(v, to/from)
			}
			misfit = misfit || !ok
			*(*int64)(unsafe.Add(dst, 8*i*stride)) = v
		}
		return misfit
	}
}

// onInt96 is a kernel of int64 for INT96 timestamps, which it counts in nanoseconds. width is the
// bytes of a value that it makes.
func onInt96(on kernel, width int) kernel {
	read := int96In(1)
	return func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, tmp *CastScratch) (misfit bool) {
		for i := 0; i < n; i += tileRows {
			m := min(tileRows, n-i)
			wrong := read(unsafe.Pointer(&tmp.whole), 1, unsafe.Add(src, 12*i), m, tmp)
			wrong = on(unsafe.Add(dst, i*stride*width), stride, unsafe.Pointer(&tmp.whole), m, tmp) || wrong
			misfit = misfit || wrong
		}
		return misfit
	}
}

// timeText is a date or timestamp as people read it.
func timeText(f *column.Field, src unsafe.Pointer) string {
	switch f.Type {
	case column.TypeInt96:
		return int96At(src).String()
	case column.TypeDate:
		return time.Unix(int64(*(*int32)(src))*86_400, 0).UTC().Format(time.DateOnly)
	}
	return instantOf(*(*int64)(src), unitOf(f)).String()
}

// spanText is the years that a timestamp of a unit holds.
func spanText(u column.Unit) string {
	lo, hi := instantOf(math.MinInt64, unitNanos(u)), instantOf(math.MaxInt64, unitNanos(u))
	return timeYear(lo) + " to " + timeYear(hi)
}

func timeYear(i instant) string { return time.Unix(i.day*86_400, 0).UTC().Format("2006") }

// int96Caster returns the Caster from INT96 to timestamps of a unit.
func int96Caster(u column.Unit) *Caster {
	return &Caster{
		cast: Cast{To: column.TypeTimestamp, Unit: u}, from: &column.Field{Kind: column.Fixed, Type: column.TypeInt96, Width: 12},
		width: 8, kernels: kernels{run: int96In(unitNanos(u))},
	}
}

// isInt96 reports whether values that are gathered as f are stored as INT96.
func isInt96(f *column.Field, vecs []*Vector) bool {
	return f.Type == column.TypeTimestamp && len(vecs) > 0 && vecs[0].Field.Type == column.TypeInt96
}

// isInt96Items is isInt96 of the items of lists.
func isInt96Items(f *column.Field, vecs []*Vector) bool {
	return f.Type == column.TypeTimestamp && len(vecs) > 0 && vecs[0].Field.Children[0].Type == column.TypeInt96
}

// Timestamps is the field with timestamps of 64 bits for those stored as INT96, its own and those
// of its children. [Gatherer.Gather] converts them; one outside the years of nanoseconds is an
// error.
func Timestamps(f *column.Field) *column.Field {
	return rewritten(f, func(f *column.Field) *column.Field {
		if f.Type != column.TypeInt96 {
			return f
		}
		c := *f
		c.Type, c.Width = column.TypeTimestamp, 8
		return &c
	})
}
