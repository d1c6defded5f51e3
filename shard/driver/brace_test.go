package driver

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
	"github.com/shardfeed/shardfeed/shard"
)

func TestExpandBraces(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"a", "a"},
		{"a{b,c}d", "abd acd"},
		{"{a,b}{1,2}", "a1 a2 b1 b2"},
		{"a{b,{c,d}e}f", "abf acef adef"},
		{"{a,}b", "ab b"},
		{"{,}", " "},
		{"{a}", "{a}"},
		{"{}", "{}"},
		{"{a,b", "{a,b"},
		{"a,b}", "a,b}"},
		{"{a{b,c}}", "{ab} {ac}"},
		{"{a,{b,c}", "{a,b {a,c"},
		{`\{a,b}`, `\{a,b}`},
		{`{a\,b,c}`, `a\,b c`},
		{"{0..3}", "0 1 2 3"},
		{"{3..0}", "3 2 1 0"},
		{"{-1..1}", "-1 0 1"},
		{"{08..11}", "08 09 10 11"},
		{"{8..011}", "008 009 010 011"},
		{"{000..2}", "000 001 002"},
		{"{-01..1}", "-01 000 001"},
		{"{0..9..4}", "0 4 8"},
		{"{9..0..4}", "9 5 1"},
		{"{0..9..-4}", "0 4 8"},
		{"{0..1..0}", "0 1"},
		{"{5..5}", "5"},
		{"{a..e}", "a b c d e"},
		{"{e..a..2}", "e c a"},
		{"{a..3}", "{a..3}"},
		{"{1..}", "{1..}"},
		{"{1..2..}", "{1..2..}"},
		{"{1..2..x}", "{1..2..x}"},
		{"{1..2..3..4}", "{1..2..3..4}"},
		{"{1...3}", "{1...3}"},
		{"{1.5..3}", "{1.5..3}"},
		{"{9223372036854775806..9223372036854775807}", "9223372036854775806 9223372036854775807"},
		{"{-9223372036854775808..9223372036854775807..18446744073709551615}", "{-9223372036854775808..9223372036854775807..18446744073709551615}"},
		{"x-{0..1}/{a..b}.parquet", "x-0/a.parquet x-0/b.parquet x-1/a.parquet x-1/b.parquet"},
	} {
		t.Run(c.in, func(t *testing.T) {
			got, err := expandAddress(c.in)
			if err != nil {
				t.Errorf("%v", err)
			}
			if g := strings.Join(got, " "); g != c.want {
				t.Errorf("%q, want %q", g, c.want)
			}
		})
	}
}

func TestExpandBracesLimits(t *testing.T) {
	for _, in := range []string{
		"{1..1048577}",
		"{-9223372036854775808..9223372036854775807}",
		strings.Repeat("{0..9}", 7),
		strings.Repeat("{a,b}", 900),
		strings.Repeat("{", 1001),
		"{{0..999999},{0..999999}}",
		"{0" + strings.Repeat("0", 1000) + "..999999}",
		strings.Repeat("x", 10000) + "{0..99999}",
	} {
		got, err := expandAddress(in)
		if !errors.Is(err, shard.ErrBadURI) || got != nil {
			t.Errorf("%.40q: %d names, %v", in, len(got), err)
		}
	}
	if racetest.Enabled {
		return // a million names are made without the detector
	}
	if got, err := expandAddress("{000000..999999}"); err != nil || len(got) != 1_000_000 || got[999_999] != "999999" {
		t.Errorf("a million names: %d, %v", len(got), err)
	}
}

// TestExpandBracesLikeBash asks bash itself.
func TestExpandBracesLikeBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	var script strings.Builder
	cases := braceWords(4000)
	for _, c := range cases {
		script.WriteString("printf '%s ' " + c + "; echo\n")
	}
	cmd := exec.Command(bash, "--norc", "-c", "set -f\n"+script.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	for i, c := range cases {
		got, err := expandAddress(c)
		if err != nil {
			t.Fatalf("%q: %v", c, err)
		}
		got = slices.DeleteFunc(got, func(s string) bool { return s == "" }) // a word that bash drops
		if want := strings.TrimRight(lines[i], " "); strings.Join(got, " ") != want {
			t.Errorf("%q: %q, bash says %q", c, got, want)
		}
	}
}

// braceWords makes words of the characters that matter.
func braceWords(n int) []string {
	parts := []string{"{", "}", ",", "..", "a", "b", "0", "1", "01", "12", "-3", "{", "}", "c"}
	state := uint64(1)
	words := make([]string, n)
	for i := range words {
		var b strings.Builder
		b.WriteByte('x') // no word is empty
		depth := 0
		for range 3 + i%9 {
			state = state*6364136223846793005 + 1442695040888963407
			part := parts[state>>33%uint64(len(parts))]
			switch part {
			case "{":
				depth++
			case "}":
				depth--
			}
			if depth < 0 { // bash lets a brace too many close an expression again; which is not meant
				depth, part = 0, "b"
			}
			b.WriteString(part)
		}
		words[i] = b.String()
	}
	return words
}

func FuzzExpandBraces(f *testing.F) {
	for _, seed := range []string{"a{b,c}", "{000..010}", "{a..e..2}", `\{a,b}`, "{{{,},},}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		all, err := expandAddress(in)
		if (err == nil) != (len(all) > 0) {
			t.Fatalf("%d names, %v", len(all), err)
		}
		if !strings.Contains(in, "{") && (len(all) != 1 || all[0] != in) {
			t.Fatalf("%q became %q", in, all)
		}
	})
}
