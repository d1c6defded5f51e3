package main

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	long := strings.Repeat("word ", 25)
	line := strings.TrimSpace(strings.Repeat("word ", 19))
	rest := strings.TrimSpace(strings.Repeat("word ", 6))
	for _, test := range []struct{ name, in, want string }{
		{"short lines stay", "// a\n// b\nx := 1\n", "// a\n// b\nx := 1\n"},
		{"a wide paragraph is refilled", "// " + long + "\n// end\n", "// " + line + "\n// " + rest + " end\n"},
		{"paragraphs stay apart", "// " + long + "\n//\n// b\n", "// " + line + "\n// " + rest + "\n//\n// b\n"},
		{"a tab counts", "\t// " + long + "\n", "\t// " + line[:len(line)-5] + "\n\t// word " + rest + "\n"},
		{"lists stay", "//   - " + long + "\n// - " + long + "\n//\tcode " + long + "\n", "//   - " + long + "\n// - " + long + "\n//\tcode " + long + "\n"},
		{"directives stay", "//go:generate " + long + "\n", "//go:generate " + long + "\n"},
		{"expected output stays", "// Output:\n// " + long + "\n", "// Output:\n// " + long + "\n"},
		{"a dash does not begin a line", "// " + line[5:] + " - - b\n", "// " + line[5:] + " - - b\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := wrap(test.in, "//"); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	if got, want := wrap("    # "+long+"\nx = 1\n", "#"), "    # "+line+"\n    # "+rest+"\nx = 1\n"; got != want {
		t.Errorf("Python: got\n%s\nwant\n%s", got, want)
	}
}
