package block

import (
	"fmt"
	"math"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
)

// A Listing makes lists of numbers of the values of a Binary column.
type Listing struct {
	Column int
	Field  *column.Field // of the lists, whose items are int32
	Rows   []uint32      // the rows that get lists, ascending; nil is all. Lists of others are empty

	// List appends the items of a value to dst. It is called once for each entry of a dictionary
	// that a row has, or else once for each row; nulls stay null.
	List func(dst []int32, value []byte) ([]int32, error)
}

// List makes lists in the blocks of one unit. They take memory of the arenas that newArena returns,
// which leave their meter. Only the goroutine that decoded the blocks may call List, before it hands
// them on.
func List(l Listing, blocks []*Block, newArena func() *mem.Arena) error {
	w := listWriter{Listing: &l, newArena: newArena}
	for _, b := range blocks {
		if err := w.block(b); err != nil {
			return err
		}
	}
	return nil
}

const (
	listShift     = 18                // bits of a place in a chunk
	listChunk     = 1<<listShift - 64 // an arena adds 64 bytes
	ownListChunk  = listChunk / 4     // of which a list that does not fit the current chunk gets a chunk of its own
	mostListBytes = 3 << 28           // of a unit: 32-bit places have no room for more chunks of ownListChunk
)

// A listWriter writes the lists of a unit.
type listWriter struct {
	*Listing
	newArena func() *mem.Arena
	dict     *Vector  // whose entries have lists
	entries  []uint64 // their views; notListed before a row has the entry
	shared   listChunks
	items    []int32
}

const notListed = math.MaxUint64

// listChunks are memory of lists: a list never crosses the end of its chunk.
type listChunks struct {
	arena *mem.Arena
	base  [][]byte
	free  []byte // of the last chunk that is not of one list
	id    int
	bytes int64
}

// block makes the lists of a block.
func (w *listWriter) block(b *Block) error {
	old := b.cols[w.Column]
	v := NewNull(w.Field, old.Len)
	v.Skip, v.Order, v.Nulls = old.Skip, old.Order, old.Nulls
	if old.Dict == nil && old.Views == nil && old.Slots == nil { // all null
		b.cols[w.Column] = v
		return nil
	}
	v.Valid, v.Marks, v.Mark, v.Step, v.Offsets = old.Valid, old.Marks, old.Mark, old.Step, nil
	chunks := &listChunks{arena: w.newArena()}
	home := b.arena
	if old.Dict != nil {
		if w.dict != old.Dict {
			w.begin(old.Dict)
		}
		w.shared.arena, home = chunks.arena, b.keeps()
		chunks = &w.shared
	}
	defer func() {
		chunks.arena.Leave()
		home.Adopt(chunks.arena)
	}()
	end := 0 // of the places that rows of the block have
	for i := range b.rows {
		end = max(end, old.Place(i)+1)
	}
	v.Views = mem.As[uint64](chunks.arena.Alloc(8 * max(end, old.Len)))[:max(end, old.Len)]
	clear(v.Views)
	err := w.rows(b, old, v.Views, chunks)
	v.Base, v.ChunkShift = chunks.base, listShift
	b.cols[w.Column] = v
	return err
}

func (w *listWriter) begin(dict *Vector) {
	w.dict, w.shared = dict, listChunks{}
	w.entries = make([]uint64, dict.Len)
	for i := range w.entries {
		w.entries[i] = notListed
	}
}

// rows sets the views of the rows of a block.
func (w *listWriter) rows(b *Block, old *Vector, views []uint64, chunks *listChunks) error {
	rows := b.rows
	if w.Rows != nil {
		rows = len(w.Rows)
	}
	for i := range rows {
		row := i
		if w.Rows != nil {
			row = int(w.Rows[i])
		}
		k := old.Place(row)
		if views[k] != 0 || old.Nulls > 0 && old.IsNull(k) {
			continue
		}
		var err error
		if views[k], err = w.view(old, k, chunks); err != nil {
			if b.from.InOrder {
				return fmt.Errorf("row %d of the row group: %w", b.from.First+int64(row), err)
			}
			return err
		}
	}
	return nil
}

// view returns the view of the list of value k.
func (w *listWriter) view(old *Vector, k int, chunks *listChunks) (view uint64, err error) {
	if old.Dict == nil {
		return w.list(old.bytesOf(k), chunks)
	}
	entry := &w.entries[old.Code(k)]
	if *entry == notListed {
		*entry, err = w.list(old.bytesOf(k), chunks)
	}
	return *entry, err
}

// list makes the list of a value.
func (w *listWriter) list(value []byte, chunks *listChunks) (view uint64, err error) {
	if w.items, err = w.List(w.items[:0], value); err != nil {
		return 0, err
	}
	return chunks.add(mem.AsBytes(w.items))
}

// add copies a list to the chunks and returns its view.
func (c *listChunks) add(items []byte) (view uint64, err error) {
	n := len(items)
	if n == 0 {
		return 0, nil
	}
	if c.bytes += int64(n); c.bytes > mostListBytes {
		return 0, fmt.Errorf("the lists of one unit take over %d bytes; read smaller units", mostListBytes)
	}
	if n > len(c.free) && n > ownListChunk {
		copy(c.chunk(n), items)
		return uint64(len(c.base)-1)<<(32+listShift) | uint64(n), nil
	}
	if n > len(c.free) {
		c.free = c.chunk(listChunk)
		c.id = len(c.base) - 1
	}
	at := uint64(c.id)<<listShift | uint64(len(c.base[c.id])-len(c.free))
	c.free = c.free[copy(c.free, items):]
	return at<<32 | uint64(n), nil
}

func (c *listChunks) chunk(n int) []byte {
	b := c.arena.Alloc(n)
	c.base = append(c.base, b)
	return b
}

// PackedRow returns the tokens of a row of a packed column and the lengths of its documents. The
// maker of the block may change both before anything else has it.
func (b *Block) PackedRow(col, row int) (tokens []byte, width int, lengths []int32) {
	v, l := b.cols[col], b.cols[len(b.cols)-1]
	width = v.Field.Children[0].Width
	bytes := v.Stride * width
	return v.Data[row*bytes:][:bytes], width, mem.As[int32](l.Children[0].Data)[l.Offsets[row]:l.Offsets[row+1]]
}

// ListItems returns the number of items of a row of a column whose items are int32.
func (b *Block) ListItems(col, row int) uint32 {
	v := b.cols[col]
	_, bytes := v.ItemBytes(v.Place(row), 4)
	return bytes / 4
}
