package shardfeed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rule"
)

// validateRows checks what package iterable cannot: it gets the content of the rows file.
func (s Spec) validateRows(p *option.List) {
	p.OneOf("RowsNew", s.RowsNew, string(rule.RefuseNew), string(rule.KeepNew), string(rule.DropNew))
	if s.Rows == "" && s.RowsNew != "" {
		p.Add("RowsNew", "needs {Rows}, got %q alone", s.RowsNew)
	}
}

// readFile reads a file of values that the filters name.
func (s Spec) readFile(name string) ([]byte, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.Directory, name)
	}
	return regular.ReadFile(name)
}

// ChoosesRows reports whether the data set has a rule.
func (s Spec) ChoosesRows() bool { return s.Choice.choosesRows() || s.Weight != "" }

func (c Choice) choosesRows() bool {
	return c.Filters != "" || len(c.Parts) > 0 || c.Subsample != 0 || c.Rows != ""
}

// parsed is the choice without its rows file.
func (c Choice) parsed() iterable.Choice {
	return iterable.Choice{
		Filters: c.Filters,
		Split:   rule.Split{Parts: c.Parts, Part: c.Part, Subsample: c.Subsample, Key: c.PartKey, Seed: c.PartSeed},
	}
}

// readRows reads the rows file, if there is one.
func (c Choice) readRows(into *iterable.Choice) (err error) {
	if c.Rows == "" {
		return nil
	}
	into.RowsNew = rule.NewRows(c.RowsNew)
	into.Rows, err = readRowList(c.Rows)
	return err
}

// readRowList reads a rows file.
func readRowList(name string) (*rule.RowList, error) {
	content, err := regular.ReadFile(name)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return nil, fmt.Errorf("%s: %w; name a file of rows that select wrote", name, path.Err)
	}
	list, err := rule.ParseRowList(content)
	if wrong := (*rule.Error)(nil); errors.As(err, &wrong) {
		return nil, &OptionError{Field: wrong.Field, Text: option.Literal(name) + " " + wrong.Text, Err: err}
	}
	return list, err
}

// SaveRows writes a list of rows of the data set, for Rows of a spec. The rows are those whose bits
// are set in the file bits: row i, in file order, is bit i%8 of byte i/8. save gets the list; one
// that is there already is overwritten. The data set reads all rows.
func (d *Dataset) SaveRows(bits, save string) (rows int64, err error) {
	if len(d.spec.Sources) > 0 {
		return 0, &OptionError{Field: "Sources", Text: "have no list of rows in common; open one of the sources as a data set"}
	}
	chosen, err := regular.ReadFile(bits)
	if err != nil {
		return 0, err
	}
	if want := (d.NumRows() + 7) / 8; d.Rule() != "" || int64(len(chosen)) != want {
		return 0, fmt.Errorf("%s has %d bytes for %d rows under rule %q, want %d and no rule", bits, len(chosen), d.NumRows(), d.Rule(), want)
	}
	f, err := os.Create(save)
	if err != nil {
		return 0, err
	}
	list, at := d.List(), int64(0)
	err = rule.WriteRowList(f, list, func(group int, keep []uint64) error {
		for row := range list.Groups[group].Rows {
			if i := at + row; chosen[i/8]>>(i%8)&1 == 1 {
				keep[row/64] |= 1 << (row % 64)
				rows++
			}
		}
		at += list.Groups[group].Rows
		return nil
	})
	return rows, errors.Join(err, f.Sync(), f.Close())
}
