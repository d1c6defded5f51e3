package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestReport(t *testing.T) {
	r := &report{}
	r.section("first")
	r.fact("name", "value %d", 1)
	r.section("second\x1b[2J")
	r.note("%s", strings.Repeat("word ", 25))
	want := `first
  name                 value 1

second\x1b[2J
` + "  " + strings.TrimSpace(strings.Repeat("word ", 19)) + "\n  " + strings.TrimSpace(strings.Repeat("word ", 6)) + "\n"
	if got := r.b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		t.Run(want, func(t *testing.T) {
			if got := count(n); got != want {
				t.Errorf("count(%d) is %s", n, got)
			}
		})
	}
	for d, want := range map[time.Duration]string{
		0: "0 us", 1500: "1.5 us", 12345 * time.Microsecond: "12.3 ms", 1234 * time.Millisecond: "1.23 s", 125 * time.Second: "2m5s",
	} {
		t.Run(want, func(t *testing.T) {
			if got := took(d); got != want {
				t.Errorf("took(%d) is %s, want %s", d, got, want)
			}
		})
	}
	if got := plural(1, "shard") + plural(0, "shard"); got != "1 shard0 shards" {
		t.Error(got)
	}
}

func TestBar(t *testing.T) {
	for value, want := range map[float64]string{0: "░░░░", 1: "█░░░", 4: "████", 5: "████", -1: "░░░░"} {
		t.Run(fmt.Sprint(value), func(t *testing.T) {
			if got := bar(value, 4, 4); got != want {
				t.Errorf("bar(%v) is %s", value, got)
			}
		})
	}
	if got := bar(1, 0, 2); got != "░░" {
		t.Error(got)
	}
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"a b":                  "a b",
		"a\nb\r\n\n\tc ":       "a; b; c",
		"two  spaces":          "two  spaces",
		"meant this?\n\tcat\n": "meant this? cat",
		"\u009b[2J":            `\x9b[2J`,
		"part\x1b[31m.parquet": `part\x1b[31m.parquet`,
		"가":                    "가",
	} {
		t.Run(fmt.Sprintf("%q", in), func(t *testing.T) {
			if got := oneLine(in); got != want {
				t.Errorf("oneLine(%q) is %q, want %q", in, got, want)
			}
		})
	}
}

// A message is never longer than a screen or two, whatever a file held.
func TestOneLineIsShort(t *testing.T) {
	got := oneLine(strings.Repeat("가", 1<<20))
	if len(got) > maxMessage+100 || !strings.HasSuffix(got, "가… (3137538 bytes more)") || !utf8.ValidString(got) {
		t.Errorf("%d bytes, which end with %q", len(got), got[len(got)-40:])
	}
}
