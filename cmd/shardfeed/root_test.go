package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

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
