package rule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An interval is added to a date or a timestamp: its months first, which end at the last day of a
// shorter month, then its days and its time.
type interval struct {
	months, days, nanos int64
}

// maxInterval bounds months and days, and maxIntervalNanos the time: more than all years that dates
// have, or than any time of the day.
const (
	maxInterval      = 9999 * 366
	maxIntervalNanos = 1 << 60
)

// intervalUnits are the units by name, without the s of the plural.
var intervalUnits = map[string]interval{
	"year": {months: 12}, "month": {months: 1}, "week": {days: 7}, "day": {days: 1},
	"hour": {nanos: int64(time.Hour)}, "minute": {nanos: int64(time.Minute)}, "second": {nanos: int64(time.Second)},
	"millisecond": {nanos: int64(time.Millisecond)}, "microsecond": {nanos: int64(time.Microsecond)},
}

var errInterval = errors.New("is not an interval; write whole numbers of years, months, weeks, days, hours, minutes, seconds, " +
	"milliseconds or microseconds, as in interval '1 month 7 days'")

// parseInterval reads numbers and units.
func parseInterval(text string) (i interval, err error) {
	words := strings.Fields(text)
	if len(words) == 0 || len(words)%2 != 0 {
		return i, fmt.Errorf("%q %w", text, errInterval)
	}
	for w := 0; w < len(words); w += 2 {
		n, err := strconv.ParseInt(words[w], 10, 64)
		unit, ok := intervalUnits[strings.TrimSuffix(strings.ToLower(words[w+1]), "s")]
		if err != nil || !ok {
			return i, fmt.Errorf("%q %w", text, errInterval)
		}
		most := int64(maxInterval)
		if unit.nanos > 0 {
			most = maxIntervalNanos / unit.nanos
		}
		if n > most || n < -most {
			return i, fmt.Errorf("%q is longer than dates last", text)
		}
		i.months, i.days, i.nanos = i.months+n*unit.months, i.days+n*unit.days, i.nanos+n*unit.nanos
		if max(i.nanos, -i.nanos) > maxIntervalNanos {
			return i, fmt.Errorf("%q is longer than dates last", text)
		}
	}
	return i, nil
}

// String is the interval behind its sign, as the canonical text has it.
func (i interval) String() string {
	sign := "+"
	if i.months <= 0 && i.days <= 0 && i.nanos <= 0 && i != (interval{}) {
		sign, i = "-", i.negated()
	}
	var parts []string
	for _, p := range []struct {
		n    int64
		unit string
	}{{i.months, "months"}, {i.days, "days"}, {i.nanos / int64(time.Second), "seconds"}, {i.nanos % int64(time.Second) / 1000, "microseconds"}} {
		if p.n != 0 || p.unit == "days" && i == (interval{}) {
			parts = append(parts, strconv.FormatInt(p.n, 10)+" "+p.unit)
		}
	}
	return sign + " interval '" + strings.Join(parts, " ") + "'"
}

func (i interval) negated() interval { return interval{-i.months, -i.days, -i.nanos} }

// shifted is a date or a timestamp plus an interval. A date stays one unless a part of a day is
// added.
func (l literal) shifted(by interval) (literal, error) {
	at := time.Unix(l.time.day*secondsOfDay, 0).UTC()
	first := time.Date(at.Year(), at.Month()+time.Month(by.months), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	nanos := l.time.nanos + by.nanos%nanosOfDay
	day := first.Unix()/secondsOfDay + int64(min(at.Day(), last)-1) + by.days + by.nanos/nanosOfDay
	for ; nanos < 0; day-- {
		nanos += nanosOfDay
	}
	day, nanos = day+nanos/nanosOfDay, nanos%nanosOfDay
	if day < firstDay || day > lastDay {
		return l, fmt.Errorf("%s %v is outside of the years 1 to 9999", &l, by)
	}
	if nanos != 0 && l.kind == dateLiteral {
		l.kind = timestampLiteral
	}
	l.time.day, l.time.nanos = day, nanos
	return l, nil
}
