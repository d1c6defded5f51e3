package iterable

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A record is a row of the tests' files.
type record struct {
	ID    int64  `parquet:"id"`
	Label string `parquet:"label,dict"`
	Image []byte `parquet:"image,plain"`
}

// files writes shards whose row groups have so many rows each into a store of memory; ids count
// from 0 over all of them. A row's image has imageBytes(id) bytes.
func files(t testing.TB, groups [][]int, imageBytes func(id int64) int) *memstore.Store {
	t.Helper()
	return filesFrom(t, groups, 0, imageBytes)
}

// filesFrom is files with ids from a number on.
func filesFrom(t testing.TB, groups [][]int, id int64, imageBytes func(id int64) int) *memstore.Store {
	t.Helper()
	store := &memstore.Store{}
	pattern := make([]byte, 64<<10) // byte i is i, so an image from byte id on has id + i there
	for i := range pattern {
		pattern[i] = byte(i)
	}
	for s, rows := range groups {
		shard := writeShard(t, rows, func() record {
			r := record{ID: id, Label: fmt.Sprintf("label %d", id%7), Image: pattern[id%256:][:imageBytes(id)]}
			id++
			return r
		}, parquet.PageBufferSize(1<<16), parquet.SkipPageBounds("image"))
		store.Put(fmt.Sprintf("data/part-%03d.parquet", s), shard)
	}
	return store
}

// writeShard is a shard of row groups of so many rows, which next makes one by one.
func writeShard[T any](t testing.TB, groups []int, next func() T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, options...)
	for _, rows := range groups {
		for range rows {
			if _, err := w.Write([]T{next()}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func noImage(int64) int { return 0 }

// uneven are row groups of many sizes: 40 over 6 shards.
func uneven() (groups [][]int, rows int64) {
	groups = [][]int{{10, 30, 20}, {1}, {25, 25, 25, 25, 25, 25, 25, 25}, {7, 60, 3, 0, 12, 19}, {40, 40, 40, 40, 40, 40, 40, 40, 40, 40}, {
		5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 33,
	}}
	for _, g := range groups {
		for _, n := range g {
			rows += int64(n)
		}
	}
	return groups, rows
}

func open(t testing.TB, store shard.Store, o Options) *Dataset {
	t.Helper()
	d, err := Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if n := d.pool.Stats().InUse; n != 0 {
			t.Errorf("%d bytes of blocks were never freed", n)
		}
		if n := d.options.Budget.Admitted(); n != 0 {
			t.Errorf("%d bytes are still reserved", n)
		}
	})
	return d
}

func stream(t testing.TB, d *Dataset, w shuffle.Worker, o StreamOptions) *Stream {
	t.Helper()
	s, err := d.Stream(t.Context(), w, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if used := s.account.Used(); used != (mem.Amounts{}) {
			t.Errorf("still taken after Close: %v", used)
		}
	})
	return s
}

// ids reads the ids of a draw's rows, and checks the other columns against them.
func ids(t testing.TB, schema *column.Schema, d *Draw) []int64 {
	t.Helper()
	var g rowgroup.Gatherer
	alloc := func(n int) ([]byte, error) { return make([]byte, n), nil }
	cols := make([]*column.Array, len(schema.Fields))
	for i, f := range schema.Fields {
		a, err := g.Gather(i, f, d.Blocks, d.Picks, alloc)
		if err != nil {
			t.Fatal(err)
		}
		cols[i] = a
	}
	out := make([]int64, d.Rows)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(cols[0].Data[8*i:]))
		if at := slices.IndexFunc(schema.Fields, func(f *column.Field) bool { return f.Name == "_row" }); at >= 0 {
			if n := int64(binary.LittleEndian.Uint64(cols[at].Data[8*i:])); n != out[i] {
				t.Fatalf("row %d has the number %d", out[i], n)
			}
		}
		if len(cols) < 3 {
			continue
		}
		text := func(a *column.Array) string { return string(a.Data[a.Offsets[i]:a.Offsets[i+1]]) }
		if want := fmt.Sprintf("label %d", out[i]%7); text(cols[1]) != want {
			t.Fatalf("row %d has label %q", out[i], text(cols[1]))
		}
		for k, image := 0, text(cols[2]); k < len(image); k += 61 {
			if image[k] != byte(out[i]+int64(k)) {
				t.Fatalf("row %d: byte %d of its image is %d", out[i], k, image[k])
			}
		}
	}
	return out
}

// drawn is what the tests keep of a draw.
type drawn struct {
	ids              []int64
	valid            int
	epoch, step, pos int64
}

// rest reads a stream to its end.
func rest(t testing.TB, s *Stream) []drawn {
	t.Helper()
	var out []drawn
	for {
		d, err := s.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, take(t, s, d))
	}
}

func take(t testing.TB, s *Stream, d *Draw) drawn {
	t.Helper()
	x := drawn{ids: ids(t, s.dataset.Schema(), d), valid: d.Valid, epoch: d.Epoch, step: d.Step, pos: d.Position}
	d.Release()
	return x
}

func contains(s, part string) bool { return strings.Contains(s, part) }

func waitFor(t *testing.T, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to that")
		}
	}
}
