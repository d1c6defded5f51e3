package driver

import (
	"path"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestMatchSegment(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"a", "a", true},
		{"a", "b", false},
		{"*", "", true},
		{"*", "abc", true},
		{"a*c", "abbc", true},
		{"a*c", "abbcd", false},
		{"*a*b*", "xaxbx", true},
		{"*a*b", "xbxa", false},
		{"a*b*c", "aXbYbZc", true},
		{"?", "a", true},
		{"?", "", false},
		{"?", "é", true},
		{"??", "é", false},
		{"*é", "aé", true},
		{"[a-c]", "b", true},
		{"[a-c]", "d", false},
		{"[!a-c]", "d", true},
		{"[^a-c]", "b", false},
		{"[]]", "]", true},
		{"[!]]", "a", true},
		{"[a-]", "-", true},
		{"[-a]", "-", true},
		{`[\]]`, "]", true},
		{`[\-x]`, "-", true},
		{"[가-힣]", "한", true},
		{"[a", "[a", true},
		{"[", "[", true},
		{"[]", "[]", true},
		{"[a]b", "ab", true},
		{`\*`, "*", true},
		{`\*`, "a", false},
		{`\é`, "é", true},
		{`a\`, `a\`, true},
		{"a**", "ab", true},
		{"*", "\xff", true},
		{"?", "\xff", true},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			if got := matchSegment(c.pattern, c.name); got != c.want {
				t.Errorf("matchSegment(%q, %q) = %v", c.pattern, c.name, got)
			}
		})
	}
}

func TestHasGlob(t *testing.T) {
	for segment, want := range map[string]bool{
		"": false, "a": false, "*": true, "a?": true, "[a]": true, "[a": false, "[]": false, "[]]": true, `\*`: false, `\[a]`: false, `\\*`: true, `a\`: false,
	} {
		t.Run(segment, func(t *testing.T) {
			if hasGlob(segment) != want {
				t.Errorf("hasGlob(%q) = %v", segment, !want)
			}
		})
	}
	for segment, want := range map[string]string{`a`: "a", `\*`: "*", `\\`: `\`, `a\`: `a\`, `\a\b`: "ab"} {
		if got := unescape(segment); got != want {
			t.Errorf("unescape(%q) = %q", segment, got)
		}
	}
}

// TestMatchIsQuick: patterns that make naive matchers try everything.
func TestMatchIsQuick(t *testing.T) {
	start := time.Now()
	matchSegment(strings.Repeat("a*", 1000)+"b", strings.Repeat("a", 10_000))
	if took := time.Since(start); took > time.Minute {
		t.Fatalf("took %v", took)
	}
}

// FuzzMatch compares with path.Match where both speak one language.
func FuzzMatch(f *testing.F) {
	f.Add("a*[b-d]?", "axxc1")
	f.Add(`\*[!a]`, "*b")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		got := matchSegment(pattern, name)
		if strings.ContainsAny(pattern, "[]\\/") || strings.Contains(name, "/") || !utf8.ValidString(name) || !utf8.ValidString(pattern) {
			return
		}
		if want, err := path.Match(pattern, name); err == nil && got != want {
			t.Fatalf("matchSegment(%q, %q) = %v", pattern, name, got)
		}
	})
}
