// Package text formats numbers and long values for people.
package text

import (
	"fmt"
	"strings"
)

// Count prints a number with a comma between thousands.
func Count(n int64) string {
	s := fmt.Sprintf("%d", n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural prints a number of things: "1 shard", "2 shards", "2 batches", "2 classes" or "2 copies".
func Plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "tch") || strings.HasSuffix(noun, "ss") {
		noun += "e"
	}
	if stem, ok := strings.CutSuffix(noun, "py"); ok {
		noun = stem + "pie"
	}
	return Count(int64(n)) + " " + noun + "s"
}

// Shorten cuts s after most characters and marks the cut with "...".
func Shorten(s string, most int) string {
	for i := range s {
		if most--; most < 0 {
			return s[:i] + "..."
		}
	}
	return s
}

// OneOf is "a, b or c".
func OneOf(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
