package shardfeed

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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

// readRows reads the rows file.
func (s Spec) readRows(o *iterable.Options) (err error) {
	if s.Rows == "" {
		return nil
	}
	o.RowsNew = rule.NewRows(s.RowsNew)
	o.Rows, err = readRowList(s.Rows)
	return err
}

// readRowList reads a rows file.
func readRowList(name string) (*rule.RowList, error) {
	content, err := regular.ReadFile(name)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return nil, fmt.Errorf("%s: %w; name a file of rows that select wrote", name, path.Err)
	}
	list, err := rule.ParseRowList(content)
	if err != nil {
		wrong := (*rule.Error)(nil)
		if errors.As(err, &wrong) {
			return nil, &OptionError{Field: wrong.Field, Text: option.Literal(name) + " " + wrong.Text, Err: err}
		}
		return nil, err
	}
	return list, nil
}

// Chosen says in short texts which rows the data set reads and how it numbers words, by the fields
// of its spec. Ranks must have them in common. A rows file shows its digest, since ranks may have it
// under other names.
func (d *Dataset) Chosen() map[string]string {
	s := d.spec
	all := map[string]string{
		"Filters": shortText(s.Filters), "Part": s.Part, "Parts": weightsText(s.Parts), "PartKey": s.PartKey, "Weight": s.Weight, "RowsNew": s.RowsNew,
		"Sources": s.sourcesText(), "Pack": s.packText(), "Bucket": s.bucketText(), "Vocabulary": vocabularyText(s.Vocabulary), "Unknown": numbersText(s.Unknown),
		"Cast": castsText(s.Cast), "Hash": numbersText(s.Hash), "Scale": scalesText(s.Scale), "Stack": stacksText(s.Stack), "Images": imagesText(s.Images),
	}
	if s.PartSeed != 0 {
		all["PartSeed"] = strconv.FormatUint(s.PartSeed, 10)
	}
	if s.Subsample != 0 {
		all["Subsample"] = strconv.FormatFloat(s.Subsample, 'g', -1, 64)
	}
	if d.rows != nil {
		all["Rows"] = d.rows.Digest()[:16]
	}
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	return all
}

const mostText = 200 // bytes of a filter in a message

func shortText(text string) string {
	if len(text) <= mostText {
		return text
	}
	return strings.ToValidUTF8(text[:mostText], "") + fmt.Sprintf("... (%d bytes)", len(text))
}

// weightsText is parts as the command takes them.
func weightsText(parts map[string]float64) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		all = append(all, name+"="+strconv.FormatFloat(parts[name], 'g', -1, 64))
	}
	return strings.Join(all, ",")
}

// vocabularyText tells lists of words apart, by their number and a digest.
func vocabularyText(vocabulary map[string][]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(vocabulary)) {
		h := sha256.New()
		for _, word := range vocabulary[name] {
			fmt.Fprintf(h, "%d %s\n", len(word), word)
		}
		all = append(all, fmt.Sprintf("%s: %d words %x", name, len(vocabulary[name]), h.Sum(nil)[:6]))
	}
	return strings.Join(all, ", ")
}

func numbersText(numbers map[string]int64) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		all = append(all, name+"="+strconv.FormatInt(numbers[name], 10))
	}
	return strings.Join(all, ",")
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
