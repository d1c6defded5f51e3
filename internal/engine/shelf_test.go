package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
)

// A ware is a row that has every kind of column.
type ware struct {
	ID      int64            `parquet:"id"`
	Sold    bool             `parquet:"sold"`
	New     *bool            `parquet:"new,optional"`
	Count   int16            `parquet:"count"`
	Price   *float64         `parquet:"price,optional"`
	Key     [16]byte         `parquet:"key,uuid"`
	Title   string           `parquet:"title,dict"`
	Note    *string          `parquet:"note,optional"`
	Image   []byte           `parquet:"image"`
	Tokens  []int32          `parquet:"tokens,list"`
	Holes   []*int32         `parquet:"holes,list"`
	Words   []string         `parquet:"words,list"`
	Parts   []piece          `parquet:"parts,list"`
	Maker   *maker           `parquet:"maker,optional"`
	Tags    map[string]int32 `parquet:"tags"`
	Nothing *int32           `parquet:"nothing,optional"`
}

type piece struct {
	Sizes []float32 `parquet:"sizes,list"`
	Names []string  `parquet:"names,list"`
}

type maker struct {
	Name string  `parquet:"name"`
	Age  *int32  `parquet:"age,optional"`
	Made []int64 `parquet:"made,list"`
}

func maybe[T any](r *rand.Rand, v T) *T {
	if r.IntN(3) == 0 {
		return nil
	}
	return &v
}

func several[T any](r *rand.Rand, one func() T) []T {
	s := make([]T, r.IntN(4))
	for i := range s {
		s[i] = one()
	}
	return s
}

func randomWare(r *rand.Rand, id int64, imageBytes int) ware {
	word := func() string { return strings.Repeat("가나다 word ", r.IntN(3)) + fmt.Sprint(r.IntN(100)) }
	w := ware{
		ID: id, Sold: r.IntN(2) == 0, New: maybe(r, r.IntN(2) == 0), Count: int16(r.Int32()), Price: maybe(r, r.Float64()), Title: word(),
		Note: maybe(r, word()), Image: bytes.Repeat([]byte{byte(id)}, imageBytes),
		Tokens: several(r, r.Int32), Holes: several(r, func() *int32 { return maybe(r, r.Int32()) }), Words: several(r, word),
		Parts: several(r, func() piece { return piece{Sizes: several(r, r.Float32), Names: several(r, word)} }),
		Maker: maybe(r, maker{Name: word(), Age: maybe(r, r.Int32()), Made: several(r, r.Int64)}),
	}
	w.Key[0], w.Key[15] = byte(id), 7
	if r.IntN(3) > 0 {
		w.Tags = map[string]int32{word(): r.Int32()}
	}
	return w
}

// wares is a store of shards of so many rows; imageBytes says how large a row's image is.
func wares(t testing.TB, shards, rows int, imageBytes func(id int64) int) shard.Stores {
	t.Helper()
	store, r, id := &memstore.Store{}, rand.New(rand.NewPCG(1, 2)), int64(0)
	for s := range shards {
		var b bytes.Buffer
		w := parquet.NewGenericWriter[ware](&b)
		for range rows {
			if _, err := w.Write([]ware{randomWare(r, id, imageBytes(id))}); err != nil {
				t.Fatal(err)
			}
			if id++; id%50 == 0 {
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
	return shard.Stores{"mem": store}
}

// openWares opens the wares, shuffled.
func openWares(t testing.TB, stores shard.Stores, budget *mem.Budget) *iterable.Dataset {
	t.Helper()
	ds, err := iterable.Open(t.Context(), stores, []string{"mem://data/"}, iterable.Options{
		Order: iterable.Order{Shuffle: true, Seed: 3}, ShuffleBuffer: iterable.Size{Rows: 100}, Resources: iterable.Resources{Budget: (*iterable.Budget)(budget)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// asText is what a column of a loader's batch holds, in the words of clientBatch.columns.
func asText(a *column.Array) []string {
	values := make([]string, a.Len)
	var children [][]string
	for _, c := range a.Children {
		children = append(children, asText(c))
	}
	for i := range values {
		f := a.Field
		if a.IsNull(i) {
			values[i] = "null"
			continue
		}
		switch f.Kind {
		case column.Fixed:
			values[i] = fmt.Sprintf("%x", a.Data[i*f.Width:(i+1)*f.Width])
		case column.Binary:
			values[i] = bytesAsText(a.Data[a.Offsets[i]:a.Offsets[i+1]])
		case column.List, column.Map:
			lo, hi := a.Items(i)
			values[i] = fmt.Sprint(children[0][lo:hi])
		case column.Struct:
			for k, c := range f.Children {
				values[i] += c.Name + ":" + children[k][i] + ";"
			}
		}
	}
	return values
}
