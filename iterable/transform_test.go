package iterable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
)

// column reads one column of all rows of a data set, by id.
func columnValues(t *testing.T, d *Dataset, col int) (byID map[int64][]byte, f *column.Field) {
	t.Helper()
	s := stream(t, d, WorkerInfo{}, StreamOptions{BatchSize: 10, Tail: "short"})
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
	var words []string
	for i := range 7 {
		words = append(words, fmt.Sprintf("label %d", 6-i))
	}
	groups, rows := uneven()
	store := files(t, groups, func(id int64) int { return int(id % 3) })
	images := []string{"", "\x01", "\x00"} // of one byte: id mod 256, so few of them are known
	for _, o := range []Options{{Shuffle: true, Lanes: 4, UnitRows: 9}, {Shuffle: true}, {}} {
		o.Transforms = []Transform{Vocabulary("label", words), VocabularyOr("image", images, -5), Cast("label", column.TypeInt16)}
		d := open(t, store, o)
		labels, f := columnValues(t, d, 1)
		if int64(len(labels)) != rows || f.Type != column.TypeInt16 || f.Width != 2 || f.Name != "label" {
			t.Fatalf("%d rows of %+v", len(labels), *f)
		}
		for id, b := range labels {
			if got := int64(int16(binary.LittleEndian.Uint16(b))); got != 6-id%7 {
				t.Errorf("row %d is %d", id, got)
			}
		}
		byID, _ := columnValues(t, d, 2)
		for id, b := range byID {
			want := int64(-5)
			switch {
			case id%3 == 0:
				want = 0
			case id%3 == 1 && byte(id) == 1:
				want = 1
			case id%3 == 1 && byte(id) == 0:
				want = 2
			}
			if got := int64(binary.LittleEndian.Uint64(b)); got != want {
				t.Errorf("image of row %d is %d, want %d", id, got, want)
			}
		}
	}
}

func TestTransformErrors(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	stores := shard.Stores{"mem": store}
	for want, tr := range map[string]Transform{
		`transform of column "none": there is no such column`:               Vocabulary("none", nil),
		`transform of column "id": a vocabulary is for texts`:               Vocabulary("id", nil),
		`transform of column "label": the vocabulary has "a" at 0 and at 2`: Vocabulary("label", []string{"a", "b", "a"}),
		`transform of column "label": it holds no numbers that can be cast`: Cast("label", column.TypeInt8),
		`transform of column "id": it cannot be cast to this type`:          Cast("id", column.TypeString),
	} {
		if _, err := Open(t.Context(), stores, []string{"mem://data/"}, Options{Transforms: []Transform{tr}}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for want, tr := range map[string]Transform{
		`mem://data/part-000.parquet: row group 0, column "label": "label 0" is not in the vocabulary of 1 words`: Vocabulary("label", []string{"x"}),
		`mem://data/part-002.parquet: row group 2, column "id": 128 does not fit the type that it is cast to`:     Cast("id", column.TypeInt8),
	} {
		d := open(t, store, Options{Transforms: []Transform{tr}})
		s := stream(t, d, WorkerInfo{}, StreamOptions{BatchSize: 10})
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
	}
	d := open(t, store, Options{Transforms: []Transform{broken{}}})
	_, err := stream(t, d, WorkerInfo{}, StreamOptions{}).Next(t.Context())
	var p *PanicError
	if !errors.As(err, &p) || p.Value != "no more ink" {
		t.Errorf("error %v", err)
	}
}

type broken struct{}

func (broken) Column() string { return "id" }

func (broken) Bind(f *column.Field) (*column.Field, rowgroup.Mapping, error) {
	return f, func(dst, value []byte) error { panic("no more ink") }, nil
}

func TestCast(t *testing.T) {
	i64 := func(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }
	f64 := func(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) }
	f32 := func(v float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)) }
	for _, c := range []struct {
		from, to  column.Type
		in, want  []byte
		wantError string
	}{
		{from: column.TypeBool, to: column.TypeFloat32, in: []byte{1}, want: f32(1)},
		{from: column.TypeInt8, to: column.TypeInt64, in: []byte{0x80}, want: i64(-128)},
		{from: column.TypeInt16, to: column.TypeInt8, in: []byte{0x80, 0xff}, want: []byte{0x80}},
		{from: column.TypeInt16, to: column.TypeInt8, in: []byte{0x7f, 0xff}, wantError: "-129 does not fit"},
		{from: column.TypeInt32, to: column.TypeUint16, in: []byte{0xff, 0xff, 0, 0}, want: []byte{0xff, 0xff}},
		{from: column.TypeInt32, to: column.TypeUint16, in: []byte{0, 0, 1, 0}, wantError: "65536 does not fit"},
		{from: column.TypeInt64, to: column.TypeUint64, in: i64(-1), wantError: "-1 does not fit"},
		{from: column.TypeUint64, to: column.TypeInt64, in: i64(-1), wantError: "18446744073709551615 does not fit"},
		{from: column.TypeUint64, to: column.TypeFloat64, in: i64(-1), want: f64(1 << 64)},
		{from: column.TypeInt64, to: column.TypeFloat64, in: i64(math.MinInt64), want: f64(-1 << 63)},
		{from: column.TypeFloat64, to: column.TypeInt64, in: f64(-1 << 63), want: i64(math.MinInt64)},
		{from: column.TypeFloat64, to: column.TypeUint64, in: f64(1 << 63), want: i64(math.MinInt64)},
		{from: column.TypeFloat64, to: column.TypeInt64, in: f64(1 << 63), wantError: "does not fit"},
		{from: column.TypeFloat64, to: column.TypeInt64, in: f64(0.5), wantError: "0.5 does not fit"},
		{from: column.TypeFloat64, to: column.TypeInt64, in: f64(math.NaN()), wantError: "NaN does not fit"},
		{from: column.TypeFloat64, to: column.TypeUint64, in: f64(1 << 64), wantError: "does not fit"},
		{from: column.TypeFloat64, to: column.TypeFloat32, in: f64(0.1), want: f32(0.1)},
		{from: column.TypeFloat32, to: column.TypeFloat64, in: f32(0.5), want: f64(0.5)},
		{from: column.TypeUint8, to: column.TypeInt8, in: []byte{200}, wantError: "200 does not fit"},
	} {
		f, m, err := Cast("x", c.to).Bind(&column.Field{Kind: column.Fixed, Type: c.from})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, f.Width)
		err = m(got, c.in)
		switch {
		case c.wantError != "" && (err == nil || !contains(err.Error(), c.wantError)):
			t.Errorf("%+v: error %v", c, err)
		case c.wantError == "" && (err != nil || string(got) != string(c.want)):
			t.Errorf("%+v: %v, error %v", c, got, err)
		}
	}
}

// Nulls stay null, in columns with and without a dictionary, and in row groups that hold nothing
// else.
func TestTransformKeepsNulls(t *testing.T) {
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
	d := open(t, store, Options{Shuffle: true, Transforms: []Transform{Vocabulary("coded", []string{"a", word}), Vocabulary("plain", []string{word})}})
	s := stream(t, d, WorkerInfo{}, StreamOptions{BatchSize: 60})
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
