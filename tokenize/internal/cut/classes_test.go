package cut

import (
	"slices"
	"testing"
)

func TestClasses(t *testing.T) {
	const text = "Don't  stop\t, 1½2 _é中!"
	for name, c := range map[string]struct {
		cutter Cutter
		want   []string
	}{
		"White":                    {White(), []string{"Don't", "  ", "stop", "\t", ",", " ", "1½2", " ", "_é中!"}},
		"Words":                    {Words(), []string{"Don", "'", "t", "  ", "stop", "\t", ",", " ", "1", "½", "2", " ", "_é中", "!"}},
		"Punctuation":              {Punctuation(), []string{"Don", "'", "t  stop\t", ",", " 1½2 ", "_", "é中", "!"}},
		"Bert":                     {Bert(), []string{"Don", "'", "t", "  ", "stop", "\t", ",", " ", "1½2", " ", "_", "é中", "!"}},
		"Bert, with spaces":        {Bert().WithSpace(), []string{"Don", "'", "t", " ", " stop", "\t", ",", " 1½2", " _", "é中", "!"}},
		"Punctuation, with spaces": {Punctuation().WithSpace(), []string{"Don", "'", "t  stop\t", ",", " 1½2 ", "_", "é中", "!"}},
	} {
		if got := cutAll(c.cutter, text, 3); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
