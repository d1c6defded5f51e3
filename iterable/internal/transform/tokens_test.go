package transform

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/tokenize"
	"github.com/shardfeed/shardfeed/tokenize/tokenizetest"
)

func testTokenizer(t *testing.T, join []string, labels ...string) Tokenizer {
	t.Helper()
	loaded, err := tokenize.Load(tokenizetest.File())
	if err != nil {
		t.Fatal(err)
	}
	return Tokenizer{Tokenizer: loaded, Join: join, Labels: labels}
}

func textSchema(names ...string) *column.Schema {
	s := &column.Schema{}
	for _, name := range names {
		s.Fields = append(s.Fields, &column.Field{Name: name, Kind: column.Binary, Type: column.TypeString})
	}
	s.Fields = append(s.Fields, column.FieldOf[int64]("id"))
	return s
}

// shown lists the columns of a schema: texts, lists of tokens, and hidden ones.
func shown(s *column.Schema) string {
	var all []string
	for _, f := range s.Fields {
		switch {
		case f.Kind == column.Null && f.Made:
			all = append(all, "-")
		case f.Kind == column.List:
			all = append(all, "["+f.Name+"]")
		default:
			all = append(all, f.Name)
		}
	}
	return strings.Join(all, " ")
}

// Columns of tokens take the places of texts that nothing needs any more, in the order of the
// files.
func TestColumnsOfTokens(t *testing.T) {
	both := []string{"a", "b"}
	for _, c := range []struct {
		name     string
		columns  []string
		tokenize map[string]Tokenizer
		reads    string
		schema   string
	}{
		{"in place", nil, map[string]Tokenizer{"b": testTokenizer(t, nil)}, "", "a [b] c id"},
		{"in place, one column", []string{"id"}, map[string]Tokenizer{"b": testTokenizer(t, nil)}, "id b", "a [b] c id"},
		{"another name", []string{"id", "x"}, map[string]Tokenizer{"x": testTokenizer(t, []string{"b"})}, "id b", "a [x] c id"},
		{"with the text", []string{"id", "b"}, map[string]Tokenizer{"x": testTokenizer(t, []string{"b"})}, "id b", "a b c id [x]"},
		{"with the text, by a pattern", []string{"id", "?"}, map[string]Tokenizer{"x": testTokenizer(t, []string{"b"})}, "id ? b", "a b c id [x]"},
		{"joined", nil, map[string]Tokenizer{"x": testTokenizer(t, both)}, "", "[x] - c id"},
		{"joined, with labels", nil, map[string]Tokenizer{"x": testTokenizer(t, both, "b")}, "", "[x] [labels] c id"},
		{"labels of one column", []string{"labels"}, map[string]Tokenizer{"x": testTokenizer(t, []string{"c"}, "c")}, "c", "a b [x] id [labels]"},
		{"a text of two", nil, map[string]Tokenizer{"a": testTokenizer(t, nil), "x": testTokenizer(t, both)}, "", "[x] - c id [a]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Tokenize: c.tokenize, Columns: c.columns}
			if err := o.Validate(); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(o.Reads(), " "); got != c.reads {
				t.Errorf("it reads %q, want %q", got, c.reads)
			}
			bound, err := Bind(textSchema("a", "b", "c"), o)
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(bound.Schema); got != c.schema {
				t.Errorf("the schema is %q, want %q", got, c.schema)
			}
		})
	}
}

func TestColumnsOfTokensRefused(t *testing.T) {
	for _, c := range []struct {
		field, want string
		tokenize    map[string]Tokenizer
	}{
		{`Tokenize["x"]`, `must join different columns, got ["a" "a"]`, map[string]Tokenizer{"x": testTokenizer(t, []string{"a", "a"})}},
		{`Tokenize["x"]`, `needs column "ids", which is not read: name a whole column of the data; there is "id"`, map[string]Tokenizer{"x": testTokenizer(t, []string{"ids"})}},
		{`Tokenize["x"]`, "must join at least one column", map[string]Tokenizer{"x": testTokenizer(t, []string{})}},
		{`Tokenize["x"]`, `has labels of column "b", which is none of those that it joins: ["a"]`, map[string]Tokenizer{"x": testTokenizer(t, []string{"a"}, "b")}},
		{`Tokenize["y"]`, `makes the column "labels", as that of "x" does`, map[string]Tokenizer{"x": testTokenizer(t, []string{"a"}, "a"), "y": testTokenizer(t, []string{"b"}, "b")}},
		{`Tokenize["id"]`, `makes the column "id", and there is another of that name: leave it out of {Columns}`, map[string]Tokenizer{"id": testTokenizer(t, []string{"a"})}},
	} {
		o := Options{Tokenize: c.tokenize}
		err := o.Validate()
		if err == nil {
			_, err = Bind(textSchema("a", "b"), o)
		}
		var e *option.Error
		if !errors.As(err, &e) || e.Field != c.field || e.Text != c.want {
			t.Errorf("got %v, want %s %s", err, c.field, c.want)
		}
	}
}

// The lines of tokenizers differ where their tokens or labels do, and not by an order of options.
func TestTokenizerLines(t *testing.T) {
	seen := map[string]bool{}
	for _, change := range []func(*Tokenizer){
		func(*Tokenizer) {},
		func(t *Tokenizer) { t.Options.Template = true },
		func(t *Tokenizer) { t.Options.MaxTokens = 7 },
		func(t *Tokenizer) { t.Options.Specials = tokenize.SpecialsText },
		func(t *Tokenizer) { t.Join = []string{"a", "b"} },
		func(t *Tokenizer) { t.Join = []string{"b", "a"} },
		func(t *Tokenizer) { t.Join, t.Labels = []string{"a", "b"}, []string{"a"} },
		func(t *Tokenizer) { t.Join, t.Labels = []string{"a", "b"}, []string{"b"} },
	} {
		tok := testTokenizer(t, nil)
		tok.Labels = nil
		change(&tok)
		if line := tok.Line(); seen[line] {
			t.Errorf("two tokenizers have the line %s", line)
		} else {
			seen[line] = true
		}
	}
}

// Labels are tokens of the columns that are trained; what a template adds behind the last column
// belongs to it.
func TestAppendLabels(t *testing.T) {
	tokens, bounds := []int32{1, 10, 11, 20, 2}, []int{1, 3, 4}
	for _, c := range []struct {
		trained []bool
		want    []int32
	}{
		{[]bool{false, true}, []int32{-100, -100, -100, 20, 2}},
		{[]bool{true, false}, []int32{-100, 10, 11, -100, -100}},
		{[]bool{true, true}, []int32{-100, 10, 11, 20, 2}},
	} {
		if got := (&Encoders{trained: c.trained}).appendLabels(nil, tokens, bounds); !slices.Equal(got, c.want) {
			t.Error(fmt.Sprint(c.trained), got, c.want)
		}
	}
}
