package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/loader"
)

// parseAnnounced reads an announced slot as a trainer does.
func parseAnnounced(t *testing.T, r *ring, a wire.Announcement) *clientBatch {
	t.Helper()
	r.mu.Lock()
	g := r.all[a.Generation]
	r.mu.Unlock()
	c := &testClient{rings: map[uint32]*clientRing{a.Generation: {slots: g.slots(), slotSize: g.size, memory: g.memory}}}
	b, err := c.parse(a.Append(nil)[wire.FrameHeader:])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func nodesOf(columns []*column.Array) (nodes []wire.Node) {
	for _, a := range columns {
		nodes = append(nodes, nodeOf(a.Field))
	}
	return nodes
}

// enrich adds columns as transforms do: in the batch's memory, outside of it, and in the middle of
// a buffer.
func enrich(_ context.Context, b *loader.Batch, r *rand.Rand) error {
	tensor, err := loader.AddTensor[float32](b, "tensor", 2, 3)
	if err != nil {
		return err
	}
	for i := range tensor {
		tensor[i] = r.Float32()
	}
	own := &column.Array{Field: &column.Field{Name: "own", Kind: column.Binary, Type: column.TypeString}, Len: b.Rows, Offsets: []int32{0}}
	for i := range b.Rows {
		own.Data = append(own.Data, strings.Repeat("x", i%5)...)
		own.Offsets = append(own.Offsets, int32(len(own.Data)))
	}
	if err := b.Add(own); err != nil {
		return err
	}
	buffer, err := b.Alloc(16 + 8*b.Rows)
	if err != nil {
		return err
	}
	for i := range b.Rows {
		binary.LittleEndian.PutUint64(buffer[16+8*i:], uint64(b.Step)<<32|uint64(i))
	}
	field := &column.Field{Name: "midst", Kind: column.Fixed, Type: column.TypeInt64, Width: 8}
	if err := b.Add(&column.Array{Field: field, Len: b.Rows, Data: buffer[16:]}); err != nil {
		return err
	}
	null := &column.Array{Field: &column.Field{Name: "null", Kind: column.Null}, Len: b.Rows, Nulls: b.Rows}
	return b.Add(null)
}

// A trainer reads in a slot what the loader puts into a batch, whatever the columns, and however
// small the slots were.
func TestSlotHoldsBatch(t *testing.T) {
	ds := openWares(t, wares(t, 3, 70, func(id int64) int { return int(id) * 20 }), nil)
	defer func() {
		if err := ds.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, slotBytes := range []int64{1, 20_000, 1 << 20} {
		o := loader.Options{
			BatchSize: 16, WorldSize: 2, Rank: 1, Tail: "pad",
			Pad: []loader.Padding{
				{Column: "tokens", Multiple: 2, Mask: "mask"},
				{Column: "holes", Max: 2, ToMax: true, Value: int32(-1), Left: true},
			},
			Transforms: []loader.Transform{{Name: "enrich", Apply: enrich}},
		}
		want, err := loader.New(ds, o)
		if err != nil {
			t.Fatal(err)
		}
		r := ringOf(t, 3, slotBytes)
		o.Allocator, o.Workers = r, 2
		got, err := loader.New(ds, o)
		if err != nil {
			t.Fatal(err)
		}
		compareBatches(t, r, got, want)
		if err := got.Close(); err != nil {
			t.Error(err)
		}
		if err := want.Close(); err != nil {
			t.Error(err)
		}
		if slotBytes > 20_000 && r.latest().number != 0 {
			t.Errorf("slots of %d bytes were too small", slotBytes)
		}
	}
}

// compareBatches takes a batch of each loader in turn.
func compareBatches(t *testing.T, r *ring, got, want *loader.Loader) {
	t.Helper()
	next, stop := iter.Pull2(want.Batches(t.Context()))
	defer stop()
	steps := int64(0)
	for b, err := range got.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		a, err := b.Memory().(*slot).write(b)
		if err != nil {
			t.Fatal(err)
		}
		schema := nodesOf(b.Columns)
		b.Release()
		plain, err, _ := next()
		if err != nil {
			t.Fatal(err)
		}
		compareSlot(t, parseAnnounced(t, r, a), schema, plain)
		plain.Release()
		r.release(a)
		steps++
	}
	if steps != want.Len() || steps == 0 {
		t.Fatalf("%d batches of %d", steps, want.Len())
	}
}

func compareSlot(t *testing.T, c *clientBatch, schema []wire.Node, b *loader.Batch) {
	t.Helper()
	h := c.head
	if int(h.Rows) != b.Rows || int(h.Valid) != b.Valid || h.Epoch != b.Epoch || h.Step != b.Step || h.Position != b.Position ||
		uint64(h.NextEpoch) != b.State.Epoch || h.NextPosition != b.State.Position {
		t.Errorf("header %+v of %v", h, b)
	}
	columns, err := c.columns(schema)
	if err != nil {
		t.Fatal(err)
	}
	if len(columns) != len(b.Columns) {
		t.Fatalf("%d columns, not %d", len(columns), len(b.Columns))
	}
	for k, a := range b.Columns {
		if text := asText(a); !slices.Equal(columns[k], text) {
			t.Fatalf("step %d, column %q:\n%v\n%v", b.Step, a.Field.Name, columns[k], text)
		}
	}
}

// A batch that does not fit together is refused, and nothing of it reaches the trainer.
func TestSlotRefusesBatch(t *testing.T) {
	fixed := &column.Field{Name: "x", Kind: column.Fixed, Width: 4}
	text := &column.Field{Name: "s", Kind: column.Binary}
	group := &column.Field{Name: "g", Kind: column.Struct, Children: []*column.Field{fixed}}
	for _, c := range []struct {
		want string
		a    *column.Array
	}{
		{`column "x": bytes of data: 7 where 2 values take 8`, &column.Array{Field: fixed, Len: 2, Data: make([]byte, 7)}},
		{`column "x": bytes of validity: 1 where 9 values take 2`, &column.Array{Field: fixed, Len: 9, Data: make([]byte, 36), Valid: []byte{0}}},
		{`column "s": offsets: 2 where 2 values take 3`, &column.Array{Field: text, Len: 2, Offsets: []int32{0, 1}, Data: []byte("x")}},
		{`column "s": bytes of data: 1 where 1 values take 2`, &column.Array{Field: text, Len: 1, Offsets: []int32{0, 2}, Data: []byte("x")}},
		{`column "g": column "x": bytes of data`, &column.Array{Field: group, Len: 1, Children: []*column.Array{{Field: fixed, Len: 1}}}},
	} {
		t.Run(c.want, func(t *testing.T) {
			r := ringOf(t, 2, 4096)
			s := begin(t, r, 0)
			_, err := s.write(&loader.Batch{Rows: c.a.Len, Columns: []*column.Array{c.a}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v", c.want, err)
			}
			if s.sent || slices.Max(r.newest.seqs) != 0 {
				t.Errorf("%s: it was announced", c.want)
			}
			s.Free()
		})
	}
}

// Empty columns have what the page says: offsets where the kind has them, and nothing else.
func TestSlotOfNothing(t *testing.T) {
	r := ringOf(t, 2, 4096)
	s := begin(t, r, 0)
	item := &column.Field{Name: "item", Kind: column.Binary}
	list := &column.Field{Name: "list", Kind: column.List, Children: []*column.Field{item}}
	a, err := s.write(&loader.Batch{Rows: 2, Valid: 1, Columns: []*column.Array{
		{Field: list, Len: 2, Offsets: []int32{0, 0, 0}, Children: []*column.Array{{Field: item}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	b := parseAnnounced(t, r, a)
	columns, err := b.columns([]wire.Node{nodeOf(list)})
	if err != nil || fmt.Sprint(columns) != "[[[] []]]" {
		t.Errorf("%v, error %v", columns, err)
	}
	if items := b.nodes[1]; items[3] == 0 || items[4] != 0 || items[5] != 0 {
		t.Errorf("the items' descriptor is %v", items)
	}
	s.Free()
}

// Writing a batch takes no memory for a row or a column of Go's heap.
func TestSlotAllocates(t *testing.T) {
	r := ringOf(t, 2, 1<<20)
	var columns []*column.Array
	for i := range 40 {
		f := &column.Field{Name: fmt.Sprint(i), Kind: column.Fixed, Width: 8}
		columns = append(columns, &column.Array{Field: f, Len: 100, Data: make([]byte, 800)})
	}
	b := &loader.Batch{Rows: 100, Valid: 100, Columns: columns}
	n := testing.AllocsPerRun(100, func() {
		s := begin(t, r, 0)
		a, err := s.write(b)
		if err != nil {
			t.Fatal(err)
		}
		s.Free()
		r.release(a)
	})
	if n > 10 { // the slot, and the context of begin
		t.Errorf("%v allocations", n)
	}
}
