package gpu_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A thing is a row of the tests' shards: every kind of column.
type thing struct {
	ID     int64              `parquet:"id"`
	Sold   bool               `parquet:"sold"`
	Count  int16              `parquet:"count"`
	Size   uint8              `parquet:"size"`
	Price  *float64           `parquet:"price,optional"`
	Weight float32            `parquet:"weight"`
	Key    [16]byte           `parquet:"key,uuid"`
	Title  string             `parquet:"title"`
	Note   *string            `parquet:"note,optional"`
	Image  []byte             `parquet:"image"`
	Tokens []int32            `parquet:"tokens,list"`
	Holes  []*int32           `parquet:"holes,list"`
	Words  []string           `parquet:"words,list"`
	Nested [][]float32        `parquet:"nested,list"`
	Maker  *maker             `parquet:"maker,optional"`
	Tags   map[string]float32 `parquet:"tags"`
}

type maker struct {
	Name string  `parquet:"name"`
	Age  *int32  `parquet:"age,optional"`
	Made []int64 `parquet:"made,list"`
}

func maybe[T any](r *rand.Rand, v T) *T {
	if r.IntN(4) == 0 {
		return nil
	}
	return &v
}

func several[T any](r *rand.Rand, one func() T) []T {
	s := make([]T, r.IntN(5))
	for i := range s {
		s[i] = one()
	}
	return s
}

func randomThing(r *rand.Rand, id int64) thing {
	word := func() string { return strings.Repeat("가나 word ", r.IntN(3)) + fmt.Sprint(r.IntN(100)) }
	v := thing{
		ID: id, Sold: r.IntN(2) == 0, Count: int16(r.Int32()), Size: uint8(id), Price: maybe(r, r.Float64()), Weight: r.Float32(), Title: word(),
		Note: maybe(r, word()), Image: bytes.Repeat([]byte{byte(id)}, r.IntN(500)), Tokens: several(r, r.Int32),
		Holes: several(r, func() *int32 { return maybe(r, r.Int32()) }), Words: several(r, word),
		Nested: several(r, func() []float32 { return several(r, r.Float32) }),
		Maker:  maybe(r, maker{Name: word(), Age: maybe(r, r.Int32()), Made: several(r, r.Int64)}),
	}
	v.Key[0], v.Key[15] = byte(id), 7
	if r.IntN(3) > 0 {
		v.Tags = map[string]float32{word(): r.Float32()}
	}
	return v
}

const thingRows = 250 // of openThings; no multiple of a batch

// openThings opens shards of things, shuffled. Its budget and pool are checked to be free again at
// the end of the test.
func openThings(t testing.TB, o iterable.Options) *iterable.Dataset {
	t.Helper()
	store, r := &memstore.Store{}, rand.New(rand.NewPCG(1, 2))
	for s := range 2 {
		var b bytes.Buffer
		w := parquet.NewGenericWriter[thing](&b)
		for i := range thingRows / 2 {
			if _, err := w.Write([]thing{randomThing(r, int64(s*thingRows/2+i))}); err != nil {
				t.Fatal(err)
			}
			if i%40 == 39 {
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		store.Put(fmt.Sprintf("data/part-%03d.parquet", s), b.Bytes())
	}
	o.Budget, o.Shuffle, o.Seed, o.ShuffleBuffer.Rows = iterable.NewBudget(0), true, 3, 100
	ds, err := iterable.Open(context.Background(), shard.Stores{"mem": store}, []string{"mem://data/"}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ds.Close(); err != nil {
			t.Error(err)
		}
		if n := o.Budget.Admitted(); n != 0 {
			t.Errorf("%d bytes are still reserved", n)
		}
		if n := (*mem.Pool)(ds.Pool()).Stats().InUse; n != 0 {
			t.Errorf("%d bytes of the pool are in use", n)
		}
	})
	return ds
}

// A picture is all that a batch shows, on the host or brought back from a device.
type picture struct {
	at      string
	columns []string
}

func (p picture) String() string { return p.at + "\n" + strings.Join(p.columns, "\n") }

// equal says how two pictures differ.
func (p picture) diff(q picture) string {
	if p.at != q.at {
		return fmt.Sprintf("got %s, want %s", p.at, q.at)
	}
	if len(p.columns) != len(q.columns) {
		return fmt.Sprintf("got %d columns, want %d", len(p.columns), len(q.columns))
	}
	for i, c := range p.columns {
		if c != q.columns[i] {
			return fmt.Sprintf("got column %s\nwant %s", c, q.columns[i])
		}
	}
	return ""
}

// at is everything in a batch except its columns.
func at(rows, valid int, epoch, step, position int64, data any, state shuffle.State) string {
	return fmt.Sprintf("%d rows, %d count, epoch %d, step %d, position %d, data %v, state %s",
		rows, valid, epoch, step, position, data, state.JSON())
}

// ofHost is the picture of a loader's batch.
func ofHost(b *loader.Batch) picture {
	p := picture{at: at(b.Rows, b.Valid, b.Epoch, b.Step, b.Position, b.Data, b.State)}
	for _, a := range b.Columns {
		p.columns = append(p.columns, arrayText(a))
	}
	return p
}

func arrayText(a *column.Array) string {
	data := a.Data
	if a.Field.Kind == column.Binary && a.Offsets != nil {
		data = data[:a.Offsets[a.Len]]
	}
	var valid []byte
	if a.Valid != nil {
		valid = a.Valid[:(a.Len+7)/8]
	}
	s := fmt.Sprintf("%s %v: %d values, %d nulls, valid %x, offsets %v, data %x", a.Field.Name, a.Field, a.Len, a.Nulls, valid, a.Offsets, data)
	for _, c := range a.Children {
		s += "{" + arrayText(c) + "}"
	}
	return s
}
