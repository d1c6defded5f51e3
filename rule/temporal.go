package rule

import (
	"fmt"
	"strings"
	"time"
)

const (
	nanosOfDay    = 86400 * int64(time.Second)
	secondsOfDay  = 86400
	maxZoneOffset = 18 * 3600 // seconds, as java.time and DuckDB have it

	firstDay, lastDay = -719162, 2932896 // of the years 1 and 9999
)

// An instant is a date, a time of the day or both, with a zone or local. With a zone it is in UTC.
type instant struct {
	day   int64 // since 1970-01-01
	nanos int64 // of the day
	zoned bool
}

func (i instant) date() string {
	return time.Unix(i.day*secondsOfDay, 0).UTC().Format(time.DateOnly)
}

// clock is the time of the day with as few digits as it needs.
func (i instant) clock() string {
	return time.Unix(0, i.nanos).UTC().Format("15:04:05.999999999")
}

func (i instant) String() string {
	zone := ""
	if i.zoned {
		zone = "Z"
	}
	return i.date() + " " + i.clock() + zone
}

const (
	dateForm      = "write a date as in '2024-01-31'"
	timeForm      = "write a time as in '16:30:00.5'"
	timestampForm = "write a timestamp as in '2024-01-31 16:30:00.5' or '2024-01-31T16:30:00+01:00'"
)

// parseDate reads a date of the years 1 to 9999.
func parseDate(text string) (instant, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || t.Year() < 1 {
		return instant{}, fmt.Errorf("%q is not a date; %s", text, dateForm)
	}
	return instant{day: t.Unix() / secondsOfDay}, nil
}

// parseTime reads a time of the day.
func parseTime(text string) (instant, error) {
	nanos, ok := parseClock(text)
	if !ok {
		return instant{}, fmt.Errorf("%q is not a time of the day; %s", text, timeForm)
	}
	return instant{nanos: nanos}, nil
}

// parseTimestamp reads a date, and perhaps a time of that day and a zone.
func parseTimestamp(text string) (instant, error) {
	bad := fmt.Errorf("%q is not a timestamp; %s", text, timestampForm)
	date, rest := text, ""
	if at := strings.IndexAny(text, " Tt"); at >= 0 {
		date, rest = text[:at], text[at+1:]
	}
	i, err := parseDate(date)
	if err != nil {
		return instant{}, bad
	}
	if len(date) == len(text) {
		return i, nil
	}
	clock, offset, zoned, ok := cutZone(rest)
	nanos, fine := parseClock(clock)
	if !ok || !fine {
		return instant{}, bad
	}
	i.nanos, i.zoned = nanos-offset*int64(time.Second), zoned
	for i.nanos < 0 {
		i.day, i.nanos = i.day-1, i.nanos+nanosOfDay
	}
	i.day, i.nanos = i.day+i.nanos/nanosOfDay, i.nanos%nanosOfDay
	if i.day < firstDay || i.day > lastDay {
		return instant{}, bad
	}
	return i, nil
}

// cutZone takes the zone off a time: Z, UTC, +01, +0130 or +01:30. The offset is in seconds.
func cutZone(text string) (clock string, offset int64, zoned, ok bool) {
	for _, utc := range []string{"Z", "z", "UTC"} {
		if before, found := strings.CutSuffix(text, utc); found {
			return strings.TrimSuffix(before, " "), 0, true, true
		}
	}
	at := strings.LastIndexAny(text, "+-")
	if at < 0 {
		return text, 0, false, true
	}
	zone := text[at+1:]
	form := map[int]string{2: "15", 4: "1504", 5: "15:04"}[len(zone)]
	t, err := time.Parse(form, zone)
	seconds := int64(t.Hour()*3600 + t.Minute()*60)
	if form == "" || err != nil || seconds > maxZoneOffset {
		return "", 0, false, false
	}
	if text[at] == '-' {
		seconds = -seconds
	}
	return strings.TrimSuffix(text[:at], " "), seconds, true, true
}

// parseClock reads HH:MM, HH:MM:SS or HH:MM:SS.fraction as nanoseconds of the day.
func parseClock(text string) (nanos int64, ok bool) {
	clock, fraction, found := strings.Cut(text, ".")
	form := "15:04:05"
	if len(clock) == len("15:04") && !found {
		form = "15:04"
	}
	t, err := time.Parse(form, clock)
	if err != nil || len(clock) != len(form) || found && fraction == "" {
		return 0, false
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > 9 {
		return 0, false
	}
	part := int64(0)
	for _, c := range fraction + strings.Repeat("0", 9-len(fraction)) {
		if c < '0' || c > '9' {
			return 0, false
		}
		part = part*10 + int64(c-'0')
	}
	return int64(t.Hour()*3600+t.Minute()*60+t.Second())*int64(time.Second) + part, true
}
