package block

import (
	"fmt"
	"math"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
)

// A Listing makes lists of numbers of the values of Binary columns.
type Listing struct {
	From []int          // the columns with the values
	To   []ListedColumn // the columns that get lists
	Drop []int          // columns that become null, since nothing needs their values any more
	Rows []uint32       // the rows that get lists, ascending; nil is all. Lists of others are empty

	// List appends the items of a row's lists to dst, which has one element for each of To. It is
	// called once for each row, or if all values are of one dictionary once for each entry that a
	// row has. A row with a null among its values is null.
	List func(dst [][]int32, values [][]byte) error

	// Allow is called before List, with the function that List calls before it takes memory beside
	// that allowed, with all bytes that it takes for the row. Allow may be nil.
	Allow func(ask func(bytes int64))
}

// A ListedColumn is a column of lists, whose items are int32. It takes the place of a column, or is
// added behind the last.
type ListedColumn struct {
	At    int
	Field *column.Field
}

// made reports whether a block has all lists.
func (l *Listing) made(b *Block) bool {
	return !slices.ContainsFunc(l.To, func(to ListedColumn) bool {
		return to.At >= len(b.cols) || b.cols[to.At] == nil || b.cols[to.At].Field != to.Field
	})
}

// List makes lists in the blocks of one unit that lack them. They take memory of the arenas that
// newArena returns, which leave their meter as the blocks have. Only the goroutine that decoded the
// blocks may call List, before it hands them on.
func List(l Listing, blocks []*Block, newArena func() *mem.Arena) error {
	w := listWriter{
		Listing: &l, newArena: newArena,
		items: make([][]int32, len(l.To)), values: make([][]byte, len(l.From)), views: make([][]uint64, len(l.To)), entries: make([][]uint64, len(l.To)),
	}
	if l.Allow != nil {
		l.Allow(func(bytes int64) { w.asks.Ask(bytes) })
	}
	for _, b := range blocks {
		if l.made(b) {
			continue
		}
		if err := w.block(b); err != nil {
			return err
		}
	}
	return nil
}

const (
	listShift     = 18                // bits of a place in a chunk
	listChunk     = 1<<listShift - 64 // an arena adds 64 bytes
	leastChunk    = 8 << 10           // of the first lists: chunks grow with what they hold
	ownListChunk  = listChunk / 4     // of which a list that does not fit the current chunk gets a chunk of its own
	keptItems     = 64 << 10          // of a buffer of items that stays from one row to the next
	mostListBytes = 3 << 28           // of a unit: 32-bit places have no room for more chunks of ownListChunk
)

// A listWriter writes the lists of a unit.
type listWriter struct {
	*Listing
	newArena func() *mem.Arena
	dict     *Vector    // whose entries have lists; nil: rows have
	entries  [][]uint64 // their views, by To; notListed before a row has the entry
	shared   listChunks

	views  [][]uint64 // of the block's rows, by To
	items  [][]int32
	values [][]byte
	asks   *mem.Arena // of the row's lists
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
	from := make([]*Vector, len(w.From))
	for i, col := range w.From {
		from[i] = b.cols[col]
	}
	chunks, home := &listChunks{arena: w.newArena()}, b.arena
	if dict := from[0].Dict; len(from) == 1 && dict != nil {
		if w.dict != dict {
			w.begin(dict)
		}
		w.shared.arena, home = chunks.arena, b.keeps()
		chunks = &w.shared
	}
	defer func() {
		if !home.Metered() {
			chunks.arena.Leave()
		}
		home.Adopt(chunks.arena)
	}()
	valid, nulls := present(from, b.rows, chunks.arena)
	var err error
	if nulls < b.rows {
		for i := range w.views {
			w.views[i] = mem.As[uint64](chunks.arena.Alloc(8 * b.rows))[:b.rows]
			clear(w.views[i])
		}
		err = w.rows(b, from, valid, chunks)
	}
	for i, to := range w.To {
		v := NewNull(to.Field, b.rows)
		if nulls < b.rows {
			v.Nulls, v.Valid, v.Views, v.Base, v.ChunkShift = nulls, valid, w.views[i], chunks.base, listShift
		}
		b.put(to.At, v)
	}
	for _, col := range w.Drop {
		b.cols[col] = NewNull(&column.Field{Kind: column.Null}, b.rows)
	}
	return err
}

// put sets a column, or adds it behind the last.
func (b *Block) put(at int, v *Vector) {
	if at == len(b.cols) {
		b.cols = append(b.cols, v)
		return
	}
	b.cols[at] = v
}

// present returns the validity of rows that have a value in each of some columns; nil if all have.
func present(from []*Vector, rows int, arena *mem.Arena) (valid []uint64, nulls int) {
	for _, v := range from {
		for row := 0; row < rows && v.Nulls > 0; row++ {
			if !v.IsNull(v.Place(row)) {
				continue
			}
			if valid == nil {
				valid = mem.As[uint64](arena.Alloc(8 * ((rows + 63) / 64)))[:(rows+63)/64]
				for i := range valid {
					valid[i] = math.MaxUint64
				}
				valid[len(valid)-1] >>= -rows & 63
			}
			if bit := uint64(1) << (row % 64); valid[row/64]&bit != 0 {
				valid[row/64] &^= bit
				nulls++
			}
		}
	}
	return valid, nulls
}

func (w *listWriter) begin(dict *Vector) {
	w.dict, w.shared = dict, listChunks{}
	for i := range w.entries {
		w.entries[i] = make([]uint64, dict.Len)
		for k := range w.entries[i] {
			w.entries[i][k] = notListed
		}
	}
}

// rows sets the views of the rows of a block.
func (w *listWriter) rows(b *Block, from []*Vector, valid []uint64, chunks *listChunks) error {
	rows := b.rows
	if w.Rows != nil {
		rows = len(w.Rows)
	}
	for i := range rows {
		row := i
		if w.Rows != nil {
			row = int(w.Rows[i])
		}
		if w.views[0][row] != 0 || valid != nil && valid[row/64]>>(row%64)&1 == 0 {
			continue
		}
		if err := w.row(from, row, chunks); err != nil {
			if b.from.InOrder {
				return fmt.Errorf("row %d of the row group: %w", b.from.First+int64(row), err)
			}
			return err
		}
	}
	return nil
}

// row sets the views of a row.
func (w *listWriter) row(from []*Vector, row int, chunks *listChunks) error {
	for i, v := range from {
		w.values[i] = v.bytesOf(v.Place(row))
	}
	if len(from) > 1 || from[0].Dict == nil {
		return w.list(row, w.views, chunks)
	}
	entry := from[0].Code(from[0].Place(row))
	if w.entries[0][entry] == notListed {
		if err := w.list(entry, w.entries, chunks); err != nil {
			return err
		}
	}
	for i := range w.views {
		w.views[i][row] = w.entries[i][entry]
	}
	return nil
}

// list makes lists of the values, and sets their views at a place.
func (w *listWriter) list(at int, views [][]uint64, chunks *listChunks) (err error) {
	w.asks = chunks.arena
	if err := w.List(w.items, w.values); err != nil {
		return err
	}
	w.askCopies()
	for i, items := range w.items {
		if views[i][at], err = chunks.add(mem.AsBytes(items)); err != nil {
			return err
		}
		if w.items[i] = items[:0]; 4*cap(items) > keptItems {
			w.items[i] = nil
		}
	}
	return nil
}

// askCopies asks for the copies of lists whose items are in large buffers, and for these.
func (w *listWriter) askCopies() {
	bytes := 0
	for _, items := range w.items {
		if 4*cap(items) > keptItems {
			bytes += 4 * cap(items)
		}
	}
	for i := 0; i < len(w.items) && bytes > 0; i++ {
		w.asks.Ask(int64(bytes) + w.asks.Need(4*len(w.items[i])))
		bytes += 4 * len(w.items[i])
	}
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
		c.free = c.chunk(max(n, min(listChunk, max(leastChunk, int(c.bytes)))))
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
