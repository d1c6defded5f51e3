package counting

import (
	"fmt"
	"io"
	"strconv"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/snapshot"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/printable"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/iterable"
)

// Rows counts the rows of a table.
type Rows struct {
	Rows      int64 `json:"rows"`     // that are chosen
	AllRows   int64 `json:"all_rows"` // of the shards
	Shards    int   `json:"shards"`
	RowGroups int   `json:"row_groups"`

	Table   *snapshot.Table `json:"table,omitempty"` // whose rows these are
	Sources []Source        `json:"sources,omitempty"`
	Texts   []Texts         `json:"texts,omitempty"` // of columns with a tokenizer
}

// A Source counts the rows of one of several sources.
type Source struct {
	Name    string          `json:"name"`
	Rows    int64           `json:"rows"`
	AllRows int64           `json:"all_rows"`
	Table   *snapshot.Table `json:"table,omitempty"`
	Texts   []Texts         `json:"texts,omitempty"` // by its tokenizers
}

// Texts counts the tokens of a column in the chosen rows.
type Texts struct {
	Column string `json:"column"`
	iterable.Texts
}

// AddSource adds the rows of a source.
func (n *Rows) AddSource(name string, of Rows) {
	n.Rows, n.AllRows, n.Shards, n.RowGroups = n.Rows+of.Rows, n.AllRows+of.AllRows, n.Shards+of.Shards, n.RowGroups+of.RowGroups
	n.Sources = append(n.Sources, Source{name, of.Rows, of.AllRows, of.Table, of.Texts})
	for _, t := range of.Texts {
		n.AddTexts(t)
	}
}

// AddTexts adds the tokens of a column.
func (n *Rows) AddTexts(t Texts) {
	for i := range n.Texts {
		if n.Texts[i].Column == t.Column {
			n.Texts[i].Add(t.Texts)
			return
		}
	}
	n.Texts = append(n.Texts, t)
}

// Print prints the number of rows, or a line for each source and one for all, and then the tokens.
func (n Rows) Print(w io.Writer) error {
	r := &term.Report{}
	if n.Sources == nil {
		r.Line(strconv.FormatInt(n.Rows, 10))
	} else {
		var table [][]string
		for _, s := range n.Sources {
			table = append(table, []string{printable.Text(s.Name), strconv.FormatInt(s.Rows, 10)})
		}
		r.Table(append(table, []string{"all sources", strconv.FormatInt(n.Rows, 10)}))
	}
	for _, s := range n.Sources {
		for _, t := range s.Texts {
			t.print(r, t.Column+" of "+printable.Text(s.Name))
		}
	}
	for _, t := range n.Texts {
		t.print(r, t.Column)
	}
	return r.Print(w)
}

func (t Texts) print(r *term.Report, name string) {
	each := ""
	if t.Tokens > 0 {
		each = fmt.Sprintf(", %.2f bytes each", float64(t.Bytes)/float64(t.Tokens))
	}
	r.Line(fmt.Sprintf("%s: %s in %s%s; %s with special tokens", name, text.Plural(t.Tokens, "token"), text.Plural(t.Documents, "document"), each, text.Count(t.Special)))
}
