package driver

import (
	"path"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestMatch(t *testing.T) {
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
		{"*", "a/b", false},
		{"a*c", "abbc", true},
		{"a*c", "abbcd", false},
		{"*a*b*", "xaxbx", true},
		{"*a*b", "xbxa", false},
		{"a*b*c", "aXbYbZc", true},
		{"?", "a", true},
		{"?", "", false},
		{"?", "é", true},
		{"?", "/", false},
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
		{"**", "", true},
		{"**", "a/b/c", true},
		{"**/c", "a/b/c", true},
		{"**/c", "c", true},
		{"a/**/c", "a/c", true},
		{"a/**/c", "a/x/y/c", true},
		{"a/**/c", "b/c", false},
		{"a/**/b/**/c", "a/b/x/b/c", true},
		{"a/**", "a", true},
		{"a/**", "a/b/c", true},
		{"a**", "ab", true},
		{"a**", "a/b", false},
		{"**/x=*/*.p", "k/x=1/a.p", true},
		{"mem://**/a", "mem://d/a", true},
		{"*", "\xff", true},
		{"?", "\xff", true},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			if got := Match(c.pattern, c.name); got != c.want {
				t.Errorf("Match(%q, %q) = %v", c.pattern, c.name, got)
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
		t.Run(segment, func(t *testing.T) {
			if got := unescape(segment); got != want {
				t.Errorf("unescape(%q) = %q", segment, got)
			}
		})
	}
}

// TestMatchIsQuick: patterns that make naive matchers try everything.
func TestMatchIsQuick(t *testing.T) {
	start := time.Now()
	Match(strings.Repeat("a*", 1000)+"b", strings.Repeat("a", 10_000))
	Match(strings.Repeat("**/a/", 500)+"b", strings.Repeat("a/", 2000))
	if took := time.Since(start); took > time.Minute {
		t.Fatalf("took %v", took)
	}
}

// FuzzMatch compares with path.Match where both speak one language.
func FuzzMatch(f *testing.F) {
	f.Add("a*[b-d]?", "axxc1")
	f.Add("**/x", "a/b/x")
	f.Add(`\*[!a]`, "*b")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		got := Match(pattern, name)
		if strings.Contains(pattern, "**") || strings.ContainsAny(pattern, "[]\\") || !utf8.ValidString(name) || !utf8.ValidString(pattern) {
			return
		}
		if want, err := path.Match(pattern, name); err == nil && got != want {
			t.Fatalf("Match(%q, %q) = %v", pattern, name, got)
		}
	})
}
