package text

import "testing"

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		t.Run(want, func(t *testing.T) {
			if got := Count(n); got != want {
				t.Errorf("Count(%d) is %s", n, got)
			}
		})
	}
	for n, want := range map[int64]string{0: "0 shards", 1: "1 shard", 1000: "1,000 shards"} {
		if got := Plural(n, "shard"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Plural(2, "batch") + Plural(2, "copy"); got != "2 batches2 copies" {
		t.Error(got)
	}
}

func TestShorten(t *testing.T) {
	for s, want := range map[string]string{"": "", "東京都": "東京都", "東京都庁": "東京都...", "\xff\xfe\xfd\xfc": "\xff\xfe\xfd..."} {
		if got := Shorten(s, 3); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestOneOf(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := OneOf(words); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
