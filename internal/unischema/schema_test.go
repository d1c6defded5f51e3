package unischema

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The pickles that petastorm 0.11 makes of one schema, in all protocols; and one whose named tuples
// PySpark pickled.
func TestParse(t *testing.T) {
	const want = "[{matrix NdarrayCodec float32 [3 4]} {packed CompressedNdarrayCodec int64 [2]} {points NdarrayCodec float64 [-1 3]} " +
		"{picture CompressedImageCodec uint8 [8 10 3]} {photo CompressedImageCodec uint8 [-1 -1 3]} {mask NdarrayCodec bool [5]}]"
	files, err := filepath.Glob("testdata/*.pickle")
	if err != nil || len(files) != 5 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := want
			if strings.Contains(name, "restored") {
				want = "[{matrix NdarrayCodec float32 [3 4]}]"
			}
			fields, err := Parse(b)
			if got := fmt.Sprint(fields); err != nil || got != want {
				t.Errorf("got %s, want %s (error %v)", got, want, err)
			}
		})
	}
}

// A pickle that calls anything else is refused, and damaged ones end with an error.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"cos\nsystem\n(S'echo'\ntR.":               "class \"os.system\"",
		"c__builtin__\neval\n(S'1'\ntR.":           "no Unischema",
		"cnumpy_evil\nx\n.":                        "class \"numpy_evil.x\"",
		"\x80\x04\x8c\x05posix\x8c\x06system\x93.": "class \"posix.system\"",
		"P1\n.": "instruction",
		"}.":    "no Unischema",
		"cpetastorm.unischema\nUnischema\n)\x81.": "damaged",
		"":                  "cut",
		"X\xff\xff\xff\xff": "cut",
		"(t":                "cut",
		"u.":                "damaged",
		"(((((((0.":         "damaged",
		"g5\n.":             "damaged",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.pickle")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		for i := range b { // damaged byte by byte
			c := append([]byte(nil), b...)
			c[i] ^= 0x11
			_, _ = Parse(c)
			_, _ = Parse(b[:i])
		}
	}
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = Parse(b) })
}
