package iterable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// column reads one column of all rows of a data set, by id.
func columnValues(t *testing.T, d *Dataset, col int) (byID map[int64][]byte, f *column.Field) {
	t.Helper()
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 10, Tail: "short"})
	byID = map[int64][]byte{}
	var g rowgroup.Gatherer
	alloc := func(n int) ([]byte, error) { return make([]byte, n), nil }
	f = d.Schema().Fields[col]
	for {
		dr, err := s.Next(t.Context())
		if err != nil {
			return byID, f
		}
		id, err := g.Gather(0, d.Schema().Fields[0], dr.Blocks, dr.Picks, alloc)
		if err != nil {
			t.Fatal(err)
		}
		a, err := g.Gather(col, f, dr.Blocks, dr.Picks, alloc)
		if err != nil {
			t.Fatal(err)
		}
		for i := range dr.Rows {
			byID[int64(binary.LittleEndian.Uint64(id.Data[8*i:]))] = a.Data[i*f.Width : (i+1)*f.Width]
		}
		dr.Release()
	}
}

// A vocabulary works on columns coded by a dictionary and on plain ones, shuffled and not, also
// where lanes cut units.
func TestVocabulary(t *testing.T) {
	var labels, images []string
	for i := range 7 {
		labels = append(labels, fmt.Sprintf("label %d", 6-i))
	}
	for i := range 256 { // an image has one byte, id mod 256, or none
		images = append(images, string([]byte{byte(255 - i)}))
	}
	images = append(images, "")
	groups, rows := uneven()
	store := files(t, groups, func(id int64) int { return int(id % 2) })
	for _, o := range []Options{{Order: Order{Shuffle: true, Lanes: 4, UnitRows: 9}}, {Order: Order{Shuffle: true}}, {}} {
		t.Run(fmt.Sprintf("shuffle %t, %d lanes", o.Shuffle, o.Lanes), func(t *testing.T) {
			o.Vocabulary = map[string][]string{"label": labels, "image": images}
			d := open(t, store, o)
			byID, f := columnValues(t, d, 1)
			if int64(len(byID)) != rows || f.Type != column.TypeInt64 || f.Width != 8 || f.Name != "label" {
				t.Fatalf("%d rows of %+v", len(byID), *f)
			}
			for id, b := range byID {
				if got := int64(binary.LittleEndian.Uint64(b)); got != 6-id%7 {
					t.Errorf("row %d is %d", id, got)
				}
			}
			byID, _ = columnValues(t, d, 2)
			for id, b := range byID {
				want := int64(256)
				if id%2 == 1 {
					want = 255 - id%256
				}
				if got := int64(binary.LittleEndian.Uint64(b)); got != want {
					t.Errorf("image of row %d is %d, want %d", id, got, want)
				}
			}
		})
	}
}

func TestVocabularyErrors(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	stores := shard.Stores{"mem": store}
	for want, v := range map[string]map[string][]string{
		`Vocabulary["none"] needs column "none", which is not read: name a whole column of the data`: {"none": nil},
		`Vocabulary["id"] needs a column with one text a row, and "id" is int64`:                     {"id": nil},
		`Vocabulary["label"] must have each word once, got "a" at 0 and at 2`:                        {"label": {"a", "b", "a"}},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := Open(t.Context(), stores, []string{"mem://data/"}, Options{Words: Words{Vocabulary: v}}); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
	const want = `mem://data/part-000.parquet: row group 0, column "label": "label 0" is not in the vocabulary of 1 words`
	d := open(t, store, Options{Words: Words{Vocabulary: map[string][]string{"label": {"x"}}}})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 10})
	var err error
	for err == nil {
		var dr *Draw
		if dr, err = s.Next(t.Context()); err == nil {
			dr.Release()
		}
	}
	if err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	d = open(t, store, Options{Words: Words{Vocabulary: map[string][]string{"label": {"x"}}}})
	d.sources[0].transforms.Steps[0].Apply = func(*rowgroup.Decoder, []*rowgroup.Block, []uint32) (transform.Made, error) { panic("no more ink") }
	_, err = stream(t, d, shuffle.Worker{}, StreamOptions{}).Next(t.Context())
	var p *PanicError
	if !errors.As(err, &p) || p.Value != "no more ink" {
		t.Errorf("error %v", err)
	}
}

// An unknown word gets the number of its column, in columns with a dictionary and without one, and
// a null stays null.
func TestVocabularyUnknown(t *testing.T) {
	type row struct {
		ID    int64   `parquet:"id"`
		Coded *string `parquet:"coded,optional,dict"`
		Plain *string `parquet:"plain,optional,plain"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	words := []string{"a", "b", "new", "newer"}
	for i := range int64(60) {
		r := row{ID: i}
		if k := i % 5; k < 4 {
			r.Coded, r.Plain = &words[k], &words[k]
		}
		if _, err := w.Write([]row{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	store := &memstore.Store{}
	store.Put("data/x.parquet", b.Bytes())
	for _, number := range []int64{transform.LeastUnknown, -1, 0, 2} {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			known := words[:2]
			d := open(t, store, Options{
				Words: Words{Vocabulary: map[string][]string{"coded": known, "plain": known}, Unknown: map[string]int64{"coded": number, "plain": number}},
			})
			want := []int64{0, 1, number, number, 0} // 0 stands under a null
			for _, col := range []int{1, 2} {
				byID, _ := columnValues(t, d, col)
				if len(byID) != 60 {
					t.Fatalf("column %d has %d rows, want 60", col, len(byID))
				}
				for id := range int64(60) {
					if got := int64(binary.LittleEndian.Uint64(byID[id])); got != want[id%5] {
						t.Errorf("column %d of row %d is %d, want %d", col, id, got, want[id%5])
					}
				}
			}
		})
	}
}

func TestVocabularyUnknownRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		unknown map[string]int64
		want    string // "" is allowed
	}{
		{"the place after the last word", map[string]int64{"label": 2}, ""},
		{"that losses ignore", map[string]int64{"label": -100}, ""},
		{"a gap", map[string]int64{"label": 3}, `unknown["label"] must be from -100 to 2, the number of words, got 3`},
		{"too small", map[string]int64{"label": -101}, `unknown["label"] must be from -100 to 2, the number of words, got -101`},
		{"no vocabulary", map[string]int64{"text": 0}, `unknown["text"] needs vocabulary of column "text", got 0 alone`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Options{Words: Words{Vocabulary: map[string][]string{"label": {"a", "b"}}, Unknown: c.unknown}}.Validate()
			got := ""
			if err != nil {
				got = option.Spelled(err, option.Argument)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Nulls stay null, in columns with and without a dictionary, and in row groups that hold nothing
// else.
func TestVocabularyKeepsNulls(t *testing.T) {
	type row struct {
		ID    int64   `parquet:"id"`
		Coded *string `parquet:"coded,optional,dict"`
		Plain *string `parquet:"plain,optional,plain"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	word := "word"
	for i := range int64(60) {
		r := row{ID: i}
		if i < 40 && i%3 > 0 {
			r.Coded, r.Plain = &word, &word
		}
		if _, err := w.Write([]row{r}); err != nil {
			t.Fatal(err)
		}
		if i%20 == 19 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	store := &memstore.Store{}
	store.Put("data/x.parquet", b.Bytes())
	d := open(t, store, Options{Order: Order{Shuffle: true}, Words: Words{Vocabulary: map[string][]string{"coded": {"a", word}, "plain": {word}}}})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 60})
	dr, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer dr.Release()
	var g rowgroup.Gatherer
	cols := make([]*column.Array, 3)
	for i, f := range d.Schema().Fields {
		if cols[i], err = g.Gather(i, f, dr.Blocks, dr.Picks, func(n int) ([]byte, error) { return make([]byte, n), nil }); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 60 {
		id := int64(binary.LittleEndian.Uint64(cols[0].Data[8*i:]))
		present := id < 40 && id%3 > 0
		for k, want := range map[int]uint64{1: 1, 2: 0} {
			if got := cols[k].Valid[i/8]>>(i%8)&1 == 1; got != present {
				t.Errorf("row %d, column %d: present %t", id, k, got)
			}
			if got := binary.LittleEndian.Uint64(cols[k].Data[8*i:]); present && got != want || !present && got != 0 {
				t.Errorf("row %d, column %d: %d", id, k, got)
			}
		}
	}
}
