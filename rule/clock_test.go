package rule

import (
	"strings"
	"testing"
	"time"
)

// TestClock: the canonical text keeps today() and now(), and At gives them the values of an
// instant.
func TestClock(t *testing.T) {
	now := time.Date(2024, 3, 31, 1, 30, 15, 999, time.FixedZone("", 2*3600)) // 23:30:15 of the day before in UTC
	for _, c := range []struct{ text, want, at string }{
		{"d = TODAY( )", "d = today()", "d = date '2024-03-30'"},
		{"today() <= d", "d >= today()", "d >= date '2024-03-30'"},
		{"t < Now()", "t < now()", "t < timestamp '2024-03-30 23:30:15'"},
		{"d >= today() - 7", "d >= today() - interval '7 days'", "d >= date '2024-03-23'"},
		{"d >= today() - interval '1 week'", "d >= today() - interval '7 days'", "d >= date '2024-03-23'"},
		{"d > today() + INTERVAL 2 Day", "d > today() + interval '2 days'", "d > date '2024-04-01'"},
		{"d > today() - interval '2' days", "d > today() - interval '2 days'", "d > date '2024-03-28'"},
		{"d > today() - interval '1 month'", "d > today() - interval '1 months'", "d > date '2024-02-29'"},
		{"d > today() - interval '1 year 1 month'", "d > today() - interval '13 months'", "d > date '2023-02-28'"},
		{"d > today() - interval '-1 days'", "d > today() + interval '1 days'", "d > date '2024-03-31'"},
		{"d > today() + interval '1 month -1 day'", "d > today() + interval '1 months -1 days'", "d > date '2024-04-29'"},
		{"d > today() - interval '48 hours'", "d > today() - interval '172800 seconds'", "d > date '2024-03-28'"},
		{"t > today() - interval '90 minutes'", "t > today() - interval '5400 seconds'", "t > timestamp '2024-03-29 22:30:00'"},
		{"t > now() - interval '1 hour' - interval '1 microsecond'", "t > now() - interval '3600 seconds' - interval '1 microseconds'", "t > timestamp '2024-03-30 22:30:14.999999'"},
		{"d between today() - 2 and today()", "d between today() - interval '2 days' and today()", "d between date '2024-03-28' and date '2024-03-30'"},
		{"not (d in (today(), today() - 1) or a = 1)", "not (d in (today(), today() - interval '1 days') or a = 1)", "not (d in (date '2024-03-30', date '2024-03-29') or a = 1)"},
		{"d > date '2024-03-31' - interval '1 month'", "d > date '2024-02-29'", "d > date '2024-02-29'"},
		{"d > date '2024-01-01' - 1", "d > date '2023-12-31'", "d > date '2023-12-31'"},
		{"t > timestamp '2024-01-01 00:30:00' - interval '1 hour'", "t > timestamp '2023-12-31 23:30:00'", "t > timestamp '2023-12-31 23:30:00'"},
		{"today = 1 and now = 2 and interval = 3", "today = 1 and now = 2 and interval = 3", "today = 1 and now = 2 and interval = 3"},
	} {
		t.Run(c.text, func(t *testing.T) {
			e, err := Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse(e.String())
			if err != nil || e.String() != c.want || again.String() != c.want {
				t.Errorf("canonical text %q, want %q, reads as %v, %v", e, c.want, again, err)
			}
			then, err := e.At(now)
			if err != nil || then.String() != c.at {
				t.Errorf("at %v: %v, %v, want %s", now, then, err, c.at)
			}
			if e.String() != c.want {
				t.Errorf("At changed the filter to %v", e)
			}
		})
	}
}

// TestClockPart: filters depend on no more of the instant than they ask for.
func TestClockPart(t *testing.T) {
	now := time.Date(2024, 3, 31, 1, 30, 15, 999, time.FixedZone("", 2*3600))
	for text, want := range map[string]string{
		"d = date '2024-01-01'": "0001-01-01T00:00:00Z", "d = today() or contains(a, 'now()')": "2024-03-30T00:00:00Z",
		"not (d = today() or t < now())": "2024-03-30T23:30:15Z",
	} {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Clock(now).Format(time.RFC3339Nano); got != want {
			t.Errorf("%s depends on %s, want %s", text, got, want)
		}
	}
}

func TestClockErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"d > today", "a column is compared with a column"},
		{"d > current_date", `"current_date" is not known; write today()`},
		{"d > CURRENT_TIMESTAMP", `write now()`},
		{"current_date() = d", `write today()`},
		{"d > today(1)", "today takes no argument: write today()"},
		{"d > today() - '7 days'", "expected an interval, as in today() - interval '7 days'"},
		{"t > now() - 7", "expected an interval, as in today() - interval '7 days'"},
		{"d > today() - interval '7'", "is not an interval; write whole numbers of years"},
		{"d > today() - interval '1.5 days'", "is not an interval; write whole numbers of years"},
		{"d > today() - interval '7 fortnights'", "is not an interval; write whole numbers of years"},
		{"d > today() - interval '99999999999 days'", "is longer than dates last"},
		{"d > today() - interval '9000000000000000000 microseconds 9000000000000000000 microseconds'", "is longer than dates last"},
		{"d > date '2024-01-01' - interval '3000 years'", "is outside of the years 1 to 9999"},
		{"d > '2024-01-01' - interval '7 days'", "write date '..' or timestamp '..' before it"},
		{"d + interval '7 days' > today()", "an interval is added to the value: write dt >= today() - interval '7 days'"},
		{"today() - d < 7", "expected an interval"},
		{"date_sub(today(), 7) < d", "write today() - interval '7 days'"},
	} {
		t.Run(c.text, func(t *testing.T) {
			if _, err := Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
	e, err := Parse("day > today() - interval '3000 years'")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.At(time.Now()); err == nil || !strings.Contains(err.Error(), "is outside of the years 1 to 9999") {
		t.Errorf("error %v", err)
	}
	if _, err := e.Bind(bindSchema(), nil); err == nil || !strings.Contains(err.Error(), "asks for today(), and no time is given") {
		t.Errorf("error %v", err)
	}
}
