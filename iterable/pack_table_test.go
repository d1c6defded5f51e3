package iterable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A packRow is a document of the tests of packing. Item i of document id is id*packItems + i.
type packRow struct {
	ID     int64    `parquet:"id"`
	Tokens []int64  `parquet:"tokens,list"`
	Mask   []int32  `parquet:"mask,list"`
	N      int16    `parquet:"n"`
	Label  *string  `parquet:"label,optional,dict"`
	Tags   []string `parquet:"tags,list"`
}

const packItems = 100_000

// A packTable is documents in shards of a store.
type packTable struct {
	store *memstore.Store
	rows  []packRow
}

// packRows writes row groups of so many documents of the lengths that length gives.
func packRows(t testing.TB, groups [][]int, length func(id int64) int) *packTable {
	t.Helper()
	table := &packTable{store: &memstore.Store{}}
	for s, sizes := range groups {
		var b bytes.Buffer
		w := parquet.NewGenericWriter[packRow](&b, parquet.PageBufferSize(512))
		for _, n := range sizes {
			for range n {
				id := int64(len(table.rows))
				row := packRow{ID: id, N: int16(length(id))}
				for i := range int(row.N) {
					row.Tokens, row.Mask = append(row.Tokens, id*packItems+int64(i)), append(row.Mask, int32(i%2))
				}
				if id%3 > 0 {
					label := fmt.Sprint("label ", id%5)
					row.Label = &label
				}
				for i := range id % 4 {
					row.Tags = append(row.Tags, fmt.Sprint(id, " tag ", i))
				}
				if _, err := w.Write([]packRow{row}); err != nil {
					t.Fatal(err)
				}
				table.rows = append(table.rows, row)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		table.store.Put(fmt.Sprintf("data/part-%03d.parquet", s), b.Bytes())
	}
	return table
}

// randomDocuments are lengths of which some are 0 and some are long.
func randomDocuments(seed uint64) func(id int64) int {
	return func(id int64) int {
		r := rand.New(rand.NewPCG(seed, uint64(id)))
		switch r.IntN(8) {
		case 0:
			return 0
		case 1:
			return 60 + r.IntN(100)
		}
		return 1 + r.IntN(30)
	}
}

// A packedBlock is what a sample holds, as the tests compare it.
type packedBlock struct {
	Tokens  string
	Mask    string
	Lengths string
	IDs     string
	Labels  string
	Tags    string
}

// packedUnits are the blocks of each unit in an epoch as the documentation of package rule says
// they are, with the documents in an order.
func (table *packTable) packedUnits(d *Dataset, epoch uint64, units []shuffle.Unit, times []int, order func(unit, n int) []uint32) [][]packedBlock {
	p, k := d.options.Pack, d.packing()
	out := make([][]packedBlock, len(units))
	for u, ids := range samplesOf(d, units, times) {
		lengths := make([]uint32, len(ids))
		for i, id := range ids {
			if lengths[i] = uint32(len(table.rows[id].Tokens)); lengths[i] > 0 && k.Spec != nil {
				lengths[i] += uint32(k.Spec.Extra())
			}
		}
		pieces, ends := k.NewFit().Layout(lengths, order(u, len(ids)))
		at := uint32(0)
		for _, end := range ends {
			if p == nil {
				out[u] = append(out[u], table.batch(ids, pieces[at:end]))
			} else {
				seed := rand.NewPCG(shuffle.RuleSeed(d.Seed(), epoch, 0, units[u].Group, units[u].Lo, int64(len(out[u]))))
				out[u] = append(out[u], table.block(p, ids, pieces[at:end], seed))
			}
			at = end
		}
	}
	return out
}

// batch is what a sample of a bucket holds.
func (table *packTable) batch(ids []int64, pieces []rule.Piece) packedBlock {
	var tokens, mask, tags []string
	var rows []int64
	var labels []string
	for _, piece := range pieces {
		row := &table.rows[ids[piece.Doc]]
		tokens, mask, tags = append(tokens, fmt.Sprint(row.Tokens)), append(mask, fmt.Sprint(row.Mask)), append(tags, fmt.Sprint(row.Tags))
		rows = append(rows, row.ID)
		if row.Label == nil {
			labels = append(labels, "null")
		} else {
			labels = append(labels, *row.Label)
		}
	}
	return packedBlock{fmt.Sprint(tokens), fmt.Sprint(mask), "", fmt.Sprint(rows), fmt.Sprint(labels), fmt.Sprint(tags)}
}

func (table *packTable) block(p *Pack, ids []int64, pieces []rule.Piece, seed *rand.PCG) packedBlock {
	var tokens []int64
	var mask, lengths []int32
	var rows []int64
	var labels []string
	var tags [][]string
	for _, piece := range pieces {
		row := &table.rows[ids[piece.Doc]]
		all, marks := row.Tokens, row.Mask
		if p.BOS != nil {
			all = append([]int64{*p.BOS}, all...)
		}
		if p.EOS != nil {
			all = append(all[:len(all):len(all)], *p.EOS)
		}
		tokens = append(tokens, all[piece.Begin:piece.Begin+piece.Tokens]...)
		if p.Extra() == 0 {
			mask = append(mask, marks[piece.Begin:piece.Begin+piece.Tokens]...)
		}
		lengths, rows, tags = append(lengths, int32(piece.Tokens)), append(rows, row.ID), append(tags, row.Tags)
		if row.Label == nil {
			labels = append(labels, "null")
		} else {
			labels = append(labels, *row.Label)
		}
	}
	for len(tokens) < p.Size() {
		tokens, mask = append(tokens, p.Value), append(mask, 0)
	}
	if p.Extra() > 0 {
		mask = nil
	}
	if f := p.NewInfiller(); f != nil {
		f.Block(mem.AsBytes(tokens), 8, lengths, seed)
	}
	return packedBlock{fmt.Sprint(tokens), fmt.Sprint(mask), fmt.Sprint(lengths), fmt.Sprint(rows), fmt.Sprint(labels), fmt.Sprint(tags)}
}

// packedRows reads the blocks of a draw.
func packedRows(t testing.TB, schema *column.Schema, d *Draw) []packedBlock {
	t.Helper()
	var g rowgroup.Gatherer
	out := make([]packedBlock, d.Rows)
	for i := range out {
		out[i].Mask = fmt.Sprint([]int32(nil))
	}
	for i, f := range schema.Fields {
		a, err := g.Gather(i, f, d.Blocks, d.Picks, func(n int) ([]byte, error) { return make([]byte, n), nil })
		if err != nil {
			t.Fatal(err)
		}
		for row := range out {
			lo, hi := a.Items(row)
			items := a.Children[0]
			switch b := &out[row]; {
			case items.Field.Kind == column.List && f.Name == "tokens":
				b.Tokens = fmt.Sprint(listsIn[int64](items, lo, hi))
				continue
			case items.Field.Kind == column.List && f.Name == "mask":
				b.Mask = fmt.Sprint(listsIn[int32](items, lo, hi))
				continue
			}
			switch b := &out[row]; f.Name {
			case "tokens":
				b.Tokens = fmt.Sprint(mem.As[int64](items.Data)[lo:hi])
			case "mask":
				b.Mask = fmt.Sprint(mem.As[int32](items.Data)[lo:hi])
			case rowgroup.LengthsColumn:
				b.Lengths = fmt.Sprint(mem.As[int32](items.Data)[lo:hi])
			case "id":
				b.IDs = fmt.Sprint(mem.As[int64](items.Data)[lo:hi])
			case "label":
				b.Labels = fmt.Sprint(textsOf(items, lo, hi))
			case "tags":
				tags := make([][]string, 0, hi-lo)
				for k := lo; k < hi; k++ {
					from, to := items.Items(k)
					tags = append(tags, textsOf(items.Children[0], from, to))
				}
				b.Tags = fmt.Sprint(tags)
			}
		}
	}
	return out
}

// listsIn are lists of an array, as text.
func listsIn[T any](a *column.Array, lo, hi int) (all []string) {
	for k := lo; k < hi; k++ {
		from, to := a.Items(k)
		all = append(all, fmt.Sprint(mem.As[T](a.Children[0].Data)[from:to]))
	}
	return all
}

func textsOf(a *column.Array, lo, hi int) (all []string) {
	for k := lo; k < hi; k++ {
		if a.IsNull(k) {
			all = append(all, "null")
			continue
		}
		all = append(all, string(a.Data[a.Offsets[k]:a.Offsets[k+1]]))
	}
	return all
}
