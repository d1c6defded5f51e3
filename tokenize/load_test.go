package tokenize

import (
	"errors"
	"strings"
	"testing"
)

// TestRefuses: each part that is not known is named with its text.
func TestRefuses(t *testing.T) {
	for _, c := range []struct{ name, file, part, text string }{
		{"normalizer", `{"model": {"type": "BPE"}, "normalizer": {"type": "Nmt"}}`, "normalizer", "Nmt"},
		{"member", `{"model": {"type": "BPE"}, "normalizer": {"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": []}, {"type": "Odd"}]}}`, "normalizer 2", "Odd"},
		{"pre-tokenizer", `{"model": {"type": "BPE"}, "pre_tokenizer": {"type": "UnicodeScripts"}}`, "pre_tokenizer", "UnicodeScripts"},
		{"model", `{"model": {"type": "WordLevel"}}`, "model", "WordLevel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load([]byte(c.file))
			var u *UnsupportedError
			if !errors.As(err, &u) {
				t.Fatalf("got the error %v, want an UnsupportedError", err)
			}
			if u.Part != c.part || !strings.Contains(u.What, c.text) {
				t.Errorf("got %q of %q, want %q of %q", u.What, u.Part, c.text, c.part)
			}
			if !strings.Contains(err.Error(), "map()") {
				t.Errorf("the error %q names no way around", err)
			}
		})
	}
}

// TestDamaged: what no tokenizer.json is has another error.
func TestDamaged(t *testing.T) {
	for _, file := range []string{"", "[]", "{}", `{"model": 1}`, `{"model": {"type": "BPE"`, `{"normalizer": {"type": "Sequence", "normalizers": [null]}}`} {
		_, err := Load([]byte(file))
		var u *UnsupportedError
		if err == nil || errors.As(err, &u) {
			t.Errorf("%q: got the error %v, want that of a damaged file", file, err)
		}
	}
}
