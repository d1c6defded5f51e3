package printable_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/shardfeed/shardfeed/internal/printable"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"naïve 日本 👩‍🚀 �", "naïve 日本 👩‍🚀 �"},
		{"a\x1b[2Jb", `a\x1b[2Jb`},
		{"a\nb\tc\x7f", `a\x0ab\x09c\x7f`},
		{"a\u009b31mb", `a\x9b31mb`},
		{"user\u202ecod.exe", `user\u202ecod.exe`},
		{"\u2066a\u2069\u200f\u061c", `\u2066a\u2069\u200f\u061c`},
		{"a\u2028b", `a\u2028b`},
		{"a\x9bb\xff", `a\x9bb\xff`},
	} {
		if got := printable.Text(c.text); got != c.want {
			t.Errorf("Text(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestWriter(t *testing.T) {
	text := "a\tb\n\x1b[2J\u009b \u202e naïve 👩‍🚀 \xff."
	want := "a\tb\n" + `\u001b[2J\u009b \u202e naïve 👩‍🚀 �.`
	for step := 1; step <= len(text); step++ {
		var b bytes.Buffer
		w := printable.Writer(&b)
		for rest := text; rest != ""; {
			n := min(step, len(rest))
			if written, err := w.Write([]byte(rest[:n])); written != n || err != nil {
				t.Fatalf("Write = %d, %v; want %d", written, err, n)
			}
			rest = rest[n:]
		}
		if b.String() != want {
			t.Errorf("in steps of %d bytes: %q, want %q", step, b.String(), want)
		}
	}
}

func TestWriterKeepsJSON(t *testing.T) {
	value := "\u009b31m \u202e \x1b"
	line, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := printable.Writer(&b).Write(line); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || got != value {
		t.Errorf("%s is %q, %v; want %q", b.Bytes(), got, err, value)
	}
}
