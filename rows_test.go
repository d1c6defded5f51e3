package shardfeed

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/option"
)

// All that is wrong with the choice of rows stands in one error, as the reader spells it.
func TestSpecRows(t *testing.T) {
	s := Spec{
		Addresses: []string{shop}, Filters: "price >", Parts: map[string]float64{"train": -1}, Part: "val", Subsample: 2, RowsNew: "keep",
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
	_, err := Open(t.Context(), Spec{Addresses: []string{shop}, Rows: missing}, Events{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), missing+": ") {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(missing, []byte("{rows}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Spec{Addresses: []string{shop}, Rows: missing}, Events{})
	if wrong := (*OptionError)(nil); !errors.As(err, &wrong) || wrong.Field != "Rows" || !strings.HasPrefix(err.Error(), "Rows "+missing+" is not a rows file") {
		t.Errorf("a file of something else: %v", err)
	}
}
