package loader

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
)

func featureSchema() *column.Schema {
	return &column.Schema{Fields: []*column.Field{
		{Name: "id", Kind: column.Fixed, Type: column.TypeInt64, Width: 8},
		int32s("num_a"), fixed("price", column.TypeFloat64, 8), texts("word"), int32s("num_b"),
		listed("pair", 2, fixed("item", column.TypeFloat32, 4)), listed("ids", 0, int32s("item")), listed("words", 0, texts("item")),
		{Name: "_row", Kind: column.Fixed, Type: column.TypeInt64, Width: 8, Made: true},
		fixed("on", column.TypeBool, 1), texts("a/b"),
	}}
}

func TestFeaturesShape(t *testing.T) {
	scale := map[string]Scale{"price": {2, 3}}
	for _, c := range []struct {
		name string
		o    Options
		want string // changed and added fields; - marks a field that left
	}{
		{"nothing", Options{}, ""},
		{"cast", Options{Features: Features{Cast: map[string]DType{"id": {Type: column.TypeInt32}, "ids": {Type: column.TypeInt64}}}}, "id int32, ids list<int64>"},
		{"pattern", Options{Features: Features{Cast: map[string]DType{"num_*": {Type: column.TypeBFloat16}, "num_b": {Type: column.TypeFloat32}}}}, "num_a bfloat16, num_b float"},
		{"slash", Options{Features: Features{Hash: map[string]int64{"a*": 5}}}, "a/b int64"},
		{"hash", Options{Features: Features{Hash: map[string]int64{"word": 9, "ids": 7}, Cast: map[string]DType{"word": {Type: column.TypeInt32}}}}, "word int32, ids list<int64>"},
		{"scale", Options{Features: Features{Scale: map[string]Scale{"price": {0, 1}, "num_a": {0, 1}}}}, "num_a float"},
		{"scale to", Options{Features: Features{Scale: scale, Cast: map[string]DType{"price": {Type: column.TypeFloat16}}}}, "price float16"},
		{
			"stack",
			Options{Features: Features{Stack: []Stack{{Name: "x", Columns: []string{"price", "num_*"}}}, Scale: scale}},
			"-num_a, -price, -num_b, x list<float>[3] of num_a price num_b, null allowed",
		},
		{
			"kept",
			Options{Features: Features{Stack: []Stack{{Name: "x", Columns: []string{"price", "num_*"}, Keep: []string{"num_b"}, Type: column.TypeFloat64}}}},
			"-num_a, -price, x list<double>[3] of num_a price num_b, null allowed",
		},
		{
			"lists and hashes",
			Options{Features: Features{Stack: []Stack{{Name: "x", Columns: []string{"id", "word"}, Type: column.TypeInt64}, {Name: "y", Columns: []string{"pair", "id"}}}, Hash: map[string]int64{"word": 5}}},
			"-id, -word, -pair, x list<int64>[2] of id word, null allowed, y list<float>[3] of id pair[0] pair[1], null allowed",
		},
		{
			"nulls answered",
			Options{Features: Features{Stack: []Stack{{Name: "x", Columns: []string{"num_a", "id"}}}}, Fill: []Fill{{"num_a", 3}}},
			"-id, -num_a, x list<float>[2] of id num_a",
		},
		{"name of a column that leaves", Options{Features: Features{Stack: []Stack{{Name: "price", Columns: []string{"price"}, Null: 0}}}}, "-price, price list<float>[1] of price"},
		{"all numbers", Options{Features: Features{Stack: []Stack{{Name: "x", Columns: []string{"i?", "o[n]"}}}}}, "-id, -on, x list<float>[2] of id on, null allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.o.Validate(); err != nil {
				t.Fatal(err)
			}
			s, err := c.o.Shape(featureSchema())
			if err != nil {
				t.Fatal(err)
			}
			if got := describeShape(s); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// describeShape says how a shape differs from featureSchema.
func describeShape(s *Shape) string {
	var all []string
	data := featureSchema().Fields
	for _, f := range data {
		at := slices.IndexFunc(s.columns, func(c shapeColumn) bool { return c.matrix == nil && data[c.source].Name == f.Name })
		if at < 0 {
			all = append(all, "-"+f.Name)
		} else if got := s.schema.Fields[at]; got.String() != f.String() {
			all = append(all, f.Name+" "+got.String())
		}
	}
	for i, c := range s.columns {
		if c.matrix == nil {
			continue
		}
		f := s.schema.Fields[i]
		text := fmt.Sprintf("%s %v of %s", f.Name, f, strings.Join(f.Features, " "))
		if f.Children[0].Nullable {
			text += ", null allowed"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func TestFeaturesRefused(t *testing.T) {
	stack := func(columns ...string) Features { return Features{Stack: []Stack{{Name: "x", Columns: columns}}} }
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"no such column", Options{Features: Features{Cast: map[string]DType{"nope": {Type: column.TypeInt32}}}}, `Cast["nope"] does not apply: no such column is read; there is "id", "num_a", "price", "word", "num_b", "pair", "ids", "words", "_row", "on", "a/b"`},
		{"no match", Options{Features: stack("n?pe*")}, `Stack["x"] cannot have "n?pe*": no column that is read matches it`},
		{"text", Options{Features: Features{Cast: map[string]DType{"word": {Type: column.TypeInt32}}}}, `Cast["word"] does not apply to column "word": it is string, which is not a number`},
		{"texts in lists", Options{Features: Features{Hash: map[string]int64{"words": 4}}}, `Hash["words"] does not apply to column "words": it is list<string>; only lists of fixed-width values can be changed`},
		{"scale of text", Options{Features: Features{Scale: map[string]Scale{"word": {0, 1}}}}, `Scale["word"] does not apply to column "word": it is string, which is not a number`},
		{"two patterns", Options{Features: Features{Hash: map[string]int64{"num_*": 4, "*_a": 5}}}, `Hash["num_*"] matches column "num_a", and so does "*_a"; name the column`},
		{"scaled integer", Options{Features: Features{Scale: map[string]Scale{"price": {0, 1}}, Cast: map[string]DType{"price": {Type: column.TypeInt8}}}}, `Scale["price"] does not apply to column "price": scaled values are floats, not int8`},
		{"small type", Options{Features: Features{Hash: map[string]int64{"word": 300}, Cast: map[string]DType{"word": {Type: column.TypeUint8}}}}, `Hash["word"] does not apply to column "word": uint8 does not hold 300 buckets`},
		{"stacked text", Options{Features: stack("word")}, `Stack["x"] cannot have column "word": it is string; give its hash or its vocabulary`},
		{"hash in floats", Options{Features: Features{Stack: stack("word").Stack, Hash: map[string]int64{"word": 3}}}, `Stack["x"] cannot have column "word": a hash is an integer, not float`},
		{"ragged", Options{Features: stack("ids")}, `Stack["x"] cannot have column "ids": it is list<int32>; only lists of numbers with one size have a feature for each item`},
		{"kept stranger", Options{Features: Features{Stack: []Stack{{Name: "x", Columns: []string{"id"}, Keep: []string{"price"}}}}}, `Stack["x"] keeps column "price", which is not in it`},
		{"taken name", Options{Features: Features{Stack: []Stack{{Name: "word", Columns: []string{"id"}}}}}, `Stack["word"] must have another name: the batch has a column "word" already`},
		{"cast of a member", Options{Features: Features{Stack: stack("id").Stack, Cast: map[string]DType{"id": {Type: column.TypeInt8}}}}, `Cast["id"] names a column of Stack "x", whose type is that of all its columns; leave it out, or keep the column`},
		{"null that does not fit", Options{Features: Features{Stack: []Stack{{Name: "x", Columns: []string{"id"}, Type: column.TypeInt8, Null: 300}}}}, `Stack["x"] cannot have column "id": replacing nulls: items are int8, which does not hold 300 (int) exactly`},
		{"made columns have no pattern", Options{Features: stack("_r*")}, `Stack["x"] cannot have "_r*": no column that is read matches it`},
		{
			"all at once",
			Options{Features: Features{Cast: map[string]DType{"nope": {Type: column.TypeInt32}, "word": {Type: column.TypeInt8}}, Stack: stack("ids").Stack}},
			"Cast[\"nope\"] does not apply: no such column is read; there is \"id\", \"num_a\", \"price\", \"word\", \"num_b\", \"pair\", \"ids\", \"words\", \"_row\", \"on\", \"a/b\"\nStack[\"x\"] cannot have column \"ids\": it is list<int32>; only lists of numbers with one size have a feature for each item\n" +
				`Cast["word"] does not apply to column "word": it is string, which is not a number`,
		},
		{"made column", Options{Features: Features{Cast: map[string]DType{"_row": {Type: column.TypeInt32}}}}, `Cast["_row"] does not apply to column "_row", which is made and in no shard`},
		{"padded", Options{Features: stack("id"), Pad: []Padding{{Column: "x"}}}, `Pad["x"] does not apply: it is list<float>[1]; only ragged lists are padded`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.o.Validate(); err != nil {
				t.Fatal(err)
			}
			if err := c.o.Check(featureSchema()); err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestFeaturesOfPacked casts the tokens of blocks; their rows make no matrix.
func TestFeaturesOfPacked(t *testing.T) {
	lengths := listed(rowgroup.LengthsColumn, 0, int32s("element"))
	lengths.Made = true
	s := &column.Schema{Fields: []*column.Field{listed("ids", 8, int32s("element")), lengths}}
	o := Options{Features: Features{Cast: map[string]DType{"*": {Type: column.TypeInt64}}}, Packed: Packed{With: []string{DocIDs}, Labels: LabelsSame}}
	if err := o.Check(s); err != nil {
		t.Error(err)
	}
	o.Features = Features{Stack: []Stack{{Name: "x", Columns: []string{"ids"}}}}
	want := `Stack["x"] contradicts Pack: the rows of packed batches are blocks of tokens, and other columns lists; leave one of the two out`
	if err := o.Check(s); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestFeaturesValidate(t *testing.T) {
	for _, c := range []struct {
		f    Features
		want string
	}{
		{Features{Hash: map[string]int64{"a": 0}}, `Hash["a"] must be at least 1 bucket, got 0`},
		{Features{Scale: map[string]Scale{"a": {0, 0}}}, `Scale["a"] must have a deviation above 0, got 0`},
		{Features{Scale: map[string]Scale{"a": {0, math.NaN()}}}, `Scale["a"] must have a deviation above 0, got NaN`},
		{Features{Scale: map[string]Scale{"a": {math.Inf(1), 1}}}, `Scale["a"] must have a finite mean, got +Inf`},
		{Features{Cast: map[string]DType{"": {Type: column.TypeInt8}}}, `Cast[""] must name columns, got an empty name`},
		{Features{Cast: map[string]DType{"[a": {Type: column.TypeInt8}}}, `Cast["[a"] must be a name or a pattern with *, ? and [ab], got "[a"`},
		{Features{Stack: []Stack{{Name: "x"}}}, `Stack["x"] must name at least one column`},
		{Features{Stack: []Stack{{Columns: []string{"a"}}}}, `Stack[""] must have a name, which is that of the matrix in the batch`},
		{Features{Stack: []Stack{{Name: "x", Columns: []string{"a"}}, {Name: "x", Columns: []string{"b"}}}}, `Stack["x"] must not be there twice`},
	} {
		for who, err := range map[string]error{"Options": Options{Features: c.f}.Validate(), "MapOptions": MapOptions{Features: c.f}.Validate()} {
			if err == nil || err.Error() != c.want {
				t.Errorf("%s: got %v, want %s", who, err, c.want)
			}
		}
	}
}

// TestFeaturesOfShop compares batches of a loader with features to those without, row by row.
func TestFeaturesOfShop(t *testing.T) {
	ds := openShop(t, iterable.Options{Reading: iterable.Reading{Columns: []string{"price", "title", "token_ids"}, RowIDs: true}})
	plain := newShop(t, ds, Options{BatchSize: 300, NaN: true, Epochs: 2, Workers: 2})
	made := newShop(t, ds, Options{
		BatchSize: 300, NaN: true, Epochs: 2, Workers: 2,
		Features: Features{
			Cast: map[string]DType{"token_ids": {Type: column.TypeInt64}}, Hash: map[string]int64{"title": 1000}, Scale: map[string]Scale{"price": {100, 50}},
			Stack: []Stack{{Name: "x", Columns: []string{"price", "source"}, Keep: []string{"p*", "source"}}, {Name: "n", Columns: []string{"title", "_row"}, Type: column.TypeInt64}},
		},
		Pad: []Padding{{Column: "token_ids", Value: -1}},
	})
	batches := func(l *Loader) (all []*Batch) {
		for b, err := range l.Batches(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b)
			t.Cleanup(b.Release)
			if len(all) == 2 {
				break
			}
		}
		return all
	}
	want, got := batches(plain), batches(made)
	for i := range want {
		compareFeatures(t, want[i], got[i])
	}
}

func compareFeatures(t *testing.T, want, got *Batch) {
	t.Helper()
	if names := got.String(); !strings.HasSuffix(names, ", price double, source int32, x list<float>[2], n list<int64>[2], token_ids_lengths int32") {
		t.Fatal(names)
	}
	price, scaled, x, n := values[float64](t, want, "price"), values[float64](t, got, "price"), values[float32](t, got, "x"), values[int64](t, got, "n")
	row, source := values[int64](t, want, "_row"), values[int32](t, want, "source")
	tokens, padded := values[int32](t, want, "token_ids"), values[int64](t, got, "token_ids")
	lengths := values[int32](t, got, "token_ids_lengths")
	at, width := 0, len(padded)/want.Rows
	for i := range want.Rows {
		expected := (price[i] - 100) / 50
		if !same(scaled[i], expected) || !same(float64(x[2*i]), float64(float32(expected))) || x[2*i+1] != float32(source[i]) || n[2*i+1] != row[i] || n[2*i] < 0 || n[2*i] >= 1000 {
			t.Fatalf("row %d: price %v became %v and %v; x %v, n %v of row %d", i, price[i], scaled[i], expected, x[2*i:2*i+2], n[2*i:2*i+2], row[i])
		}
		for k := range int(lengths[i]) {
			if padded[i*width+k] != int64(tokens[at]) {
				t.Fatalf("row %d: token %d is %d, want %d", i, k, padded[i*width+k], tokens[at])
			}
			at++
		}
	}
}

// TestFeaturesWider foretells the memory of batches that are wider than the data.
func TestFeaturesWider(t *testing.T) {
	ds := openShop(t, iterable.Options{Reading: iterable.Reading{Columns: []string{"price", "token_ids"}}})
	bytes := func(f Features) int64 { return BatchBytes(ds, Options{BatchSize: 1000, Features: f}) }
	plain := bytes(Features{})
	tokens := int64(0)
	for g := range ds.Manifest().Groups() {
		tokens += ds.Manifest().Items(g, 0)
	}
	mean := tokens / ds.NumRows()
	if mean < 10 || mean > 200 {
		t.Fatalf("%d tokens a row", mean)
	}
	for _, c := range []struct {
		name  string
		f     Features
		wider int64 // bytes a row
	}{
		{"longer tokens", Features{Cast: map[string]DType{"token_ids": {Type: column.TypeInt64}}}, 4 * mean},
		{"shorter tokens", Features{Cast: map[string]DType{"token_ids": {Type: column.TypeInt8}}}, 0},
		{"narrow matrix", Features{Stack: []Stack{{Name: "x", Columns: []string{"price"}}}}, 0},
		{"kept column", Features{Stack: []Stack{{Name: "x", Columns: []string{"price"}, Keep: []string{"*"}}}}, 4},
		{"two matrices", Features{Stack: []Stack{{Name: "x", Columns: []string{"price"}, Type: column.TypeFloat64}, {Name: "y", Columns: []string{"price"}, Type: column.TypeInt16}}}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, want := bytes(c.f)-plain, 1000*c.wider*9/8; got < want-8 || got > want+8 {
				t.Errorf("%d bytes more, want %d", got, want)
			}
		})
	}
}

func same(a, b float64) bool { return a == b || a != a && b != b }

// TestBrainFill rounds what stands under nulls of bfloat16.
func TestBrainFill(t *testing.T) {
	f := &column.Field{Kind: column.Fixed, Type: column.TypeBFloat16, Width: 2}
	for _, c := range []struct {
		v    any
		want []byte
	}{{"NaN", []byte{0xc0, 0x7f}}, {"Infinity", []byte{0x80, 0x7f}}, {"many", nil}, {1.0, []byte{0x80, 0x3f}}, {math.NaN(), []byte{0xc0, 0x7f}}, {math.Inf(-1), []byte{0x80, 0xff}}, {1e39, nil}, {3.4e38, nil}, {-2, []byte{0, 0xc0}}} {
		b, err := encode(f, c.v)
		if (err == nil) != (c.want != nil) || err == nil && !slices.Equal(b, c.want) {
			t.Errorf("%v is %x, %v; want %x", c.v, b, err, c.want)
		}
	}
}
