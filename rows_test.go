package shardfeed

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rule"
)

// All that is wrong with the choice of rows stands in one error, as the reader spells it.
func TestSpecRows(t *testing.T) {
	s := Spec{
		Addresses: []string{shop}, Choice: Choice{Filters: "price >", Parts: map[string]float64{"train": -1}, Part: "val", Subsample: 2, RowsNew: "keep"},
	}
	for _, c := range []struct {
		name  string
		spell func(string) string
		want  []string
	}{
		{"Go", option.Go, []string{
			"Filters at column 8, at the end: expected a value", `Parts["train"] must be a weight of at least 0, got -1`, `Part must be one of train, got "val"`,
			"Subsample must be from 0.000001 to 1, got 2", `RowsNew needs Rows, got "keep" alone`,
		}},
		{"command", option.Flag, []string{"--where at column 8", `--parts["train"] must be`, "--part must be", "--subsample must", "--rows-new needs --rows"}},
		{"Python", option.Argument, []string{"filters at column 8", `parts["train"] must be`, "part must be", "subsample must", "rows_new needs rows"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := option.Spelled(s.Validate(), c.spell)
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
		})
	}
}

// A rows file that cannot be read names itself, and the field where it is not one.
func TestSpecRowsFile(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "keep.rows")
	_, err := Open(t.Context(), Spec{Addresses: []string{shop}, Choice: Choice{Rows: missing}}, Events{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), missing+": ") {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(missing, []byte("{rows}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Spec{Addresses: []string{shop}, Choice: Choice{Rows: missing}}, Events{})
	if wrong := (*OptionError)(nil); !errors.As(err, &wrong) || wrong.Field != "Rows" || !strings.HasPrefix(err.Error(), "Rows "+missing+" is not a rows file") {
		t.Errorf("a file of something else: %v", err)
	}
}

// Ranks with other words, another order of them or another number of unknown ones tell that they
// differ. Without a vocabulary nothing is compared.
func TestChosenVocabulary(t *testing.T) {
	chosen := func(s Spec) map[string]string { return (&Dataset{spec: s}).Chosen() }
	if got := chosen(Spec{}); len(got) != 0 {
		t.Errorf("nothing is chosen, got %v", got)
	}
	words := func(all ...string) map[string][]string { return map[string][]string{"label": all} }
	seen := map[string]bool{}
	for _, v := range []map[string][]string{words("a", "b"), words("b", "a"), words("", "ab"), words("a\n1 b"), words("a", "b", "c")} {
		seen[chosen(Spec{Words: Words{Vocabulary: v}})["Vocabulary"]] = true
	}
	if len(seen) != 5 || seen[""] {
		t.Errorf("5 vocabularies are told as %v", seen)
	}
	got := chosen(Spec{Words: Words{Vocabulary: words("a", "b"), Unknown: map[string]int64{"text": -1, "label": 2}}})
	if got["Unknown"] != "label=2,text=-1" || got["Vocabulary"] != `label=["a","b"]` {
		t.Errorf("got %v", got)
	}
}

// Bits by row number become a list of rows over the row groups of all shards.
func TestSaveRows(t *testing.T) {
	d, err := Open(t.Context(), Spec{Addresses: []string{shop}}, Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close(t.Context()) }()
	bits := make([]byte, (d.NumRows()+7)/8)
	for i := range bits {
		bits[i] = byte(i * 37)
	}
	dir := t.TempDir()
	from, to := filepath.Join(dir, "bits"), filepath.Join(dir, "keep.rows")
	if err := os.WriteFile(from, bits, 0o600); err != nil {
		t.Fatal(err)
	}
	rows, err := d.SaveRows(from, to)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	list, err := rule.ParseRowList(content)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := list.Match(d.List(), rule.RefuseNew, nil)
	if err != nil {
		t.Fatal(err)
	}
	var first, total int64
	for g, group := range d.List().Groups {
		keep := make([]uint64, (group.Rows+63)/64)
		for i := range keep {
			keep[i] = ^uint64(0)
		}
		kept.And(g, 0, group.Rows, keep)
		for row := range group.Rows {
			i := first + row
			if got, want := keep[row/64]>>(row%64)&1 == 1, bits[i/8]>>(i%8)&1 == 1; got != want {
				t.Fatalf("row %d is kept: %t, want %t", i, got, want)
			}
		}
		total += kept.Count(g, 0, group.Rows)
		first += group.Rows
	}
	if total != rows || rows == 0 || rows == d.NumRows() {
		t.Errorf("%d rows are kept, %d were told of %d", total, rows, d.NumRows())
	}
	if err := os.WriteFile(from, bits[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.SaveRows(from, to); err == nil || !strings.Contains(err.Error(), "bytes for 2026 rows") {
		t.Errorf("too few bits: %v", err)
	}
}
