package term

import (
	"strings"
	"testing"
	"time"
)

func TestReport(t *testing.T) {
	r := &Report{}
	r.Section("first")
	r.Fact("name", "value %d", 1)
	r.Section("second\x1b[2J")
	r.Note("%s", strings.Repeat("word ", 25))
	want := `first
  name                 value 1

second\x1b[2J
` + "  " + strings.TrimSpace(strings.Repeat("word ", 19)) + "\n  " + strings.TrimSpace(strings.Repeat("word ", 6)) + "\n"
	if got := r.B.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 us", 1500: "1.5 us", 12345 * time.Microsecond: "12.3 ms", 1234 * time.Millisecond: "1.23 s", 125 * time.Second: "2m5s",
	} {
		t.Run(want, func(t *testing.T) {
			if got := took(d); got != want {
				t.Errorf("took(%d) is %s, want %s", d, got, want)
			}
		})
	}
}
