package unigram

import (
	"fmt"
	"math"
	"strconv"
)

// ParseScore returns the number that serde_json reads. That multiplies the digits by a power of ten,
// so the last bit may be wrong, and leaves out digits that do not fit 64 bits.
func ParseScore(text string) (float64, error) {
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return 0, fmt.Errorf("the score %q is not a number", text)
	}
	s := scanner{rest: text}
	negative := s.take('-')
	digits, exponent := s.number()
	f, ok := scale(float64(digits), exponent)
	if !ok {
		return 0, fmt.Errorf("the score %q is out of range", text)
	}
	if negative {
		f = -f
	}
	return f, nil
}

// pow10 has powers of ten, rounded once. math.Pow10 may round twice.
var pow10 = func() (all [309]float64) {
	for i := range all {
		all[i], _ = strconv.ParseFloat("1e"+strconv.Itoa(i), 64)
	}
	return all
}()

// scale returns f * 10^exponent, rounded after each operation.
func scale(f float64, exponent int) (scaled float64, ok bool) {
	const most = len(pow10) - 1
	for ; exponent < -most && f != 0; exponent += most {
		f /= pow10[most]
	}
	switch {
	case f == 0:
		return 0, true
	case exponent > most:
		return 0, false
	case exponent >= 0:
		f *= pow10[exponent]
	default:
		f /= pow10[-exponent]
	}
	return f, !math.IsInf(f, 0)
}

// A scanner reads a number that is well formed.
type scanner struct{ rest string }

func (s *scanner) take(b byte) bool {
	if s.rest == "" || s.rest[0] != b {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *scanner) digit() (d uint64, ok bool) {
	if s.rest == "" || s.rest[0] < '0' || s.rest[0] > '9' {
		return 0, false
	}
	d, s.rest = uint64(s.rest[0]-'0'), s.rest[1:]
	return d, true
}

// number returns a number as digits * 10^exponent.
func (s *scanner) number() (digits uint64, exponent int) {
	full := false // no further digit fits
	add := func(d uint64) {
		if full = full || digits > (math.MaxUint64-d)/10; !full {
			digits = digits*10 + d
		}
	}
	for d, ok := s.digit(); ok; d, ok = s.digit() {
		if add(d); full {
			exponent++
		}
	}
	if s.take('.') {
		for d, ok := s.digit(); ok; d, ok = s.digit() {
			if add(d); !full {
				exponent--
			}
		}
	}
	if s.take('e') || s.take('E') {
		exponent += s.exponent()
	}
	return digits, exponent
}

func (s *scanner) exponent() int {
	sign := 1
	if s.take('-') {
		sign = -1
	} else {
		s.take('+')
	}
	e := 0
	for d, ok := s.digit(); ok; d, ok = s.digit() {
		e = min(e*10+int(d), 1<<20)
	}
	return sign * e
}
