package rowgroup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/shard"
)

type pagedRow struct {
	ID    int64    `parquet:"id,plain"`
	Label string   `parquet:"label,dict"`
	Text  string   `parquet:"text,plain"`
	Tags  []string `parquet:"tags,list"`
}

// pagedFile has row groups of so many rows in small pages, with a page index.
func pagedFile(t testing.TB, groups ...int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[pagedRow](&b, parquet.PageBufferSize(1000), parquet.Compression(&parquet.Snappy))
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range groups {
		for i := range n {
			r := pagedRow{ID: int64(i), Label: fmt.Sprint("label ", random.IntN(5)), Text: strings.Repeat("x", random.IntN(60))}
			for range random.IntN(4) {
				r.Tags = append(r.Tags, fmt.Sprint(random.IntN(100)))
			}
			if _, err := w.Write([]pagedRow{r}); err != nil {
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

func openBytes(t testing.TB, o Options, files map[string][]byte) *Reader {
	t.Helper()
	store, shards := putFiles(t, files)
	m, err := Open(context.Background(), store, shards, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func fetch(t testing.TB, m *Reader, u Rows) *Raw {
	t.Helper()
	r, err := m.Fetch(context.Background(), u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Release)
	return r
}

// A slice's chunks are the pages that the offset index, as another implementation reads it, says
// hold its rows, and the dictionary.
func TestFetchSlice(t *testing.T) {
	file := pagedFile(t, 500, 300)
	theirs, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	m := openBytes(t, Options{}, map[string][]byte{"a.parquet": file})
	sliced := 0
	edges := m.PageEdges(0)
	for _, u := range []Rows{
		{RowGroup: 0, Lo: 0, Hi: 1},
		{RowGroup: 0, Lo: 499, Hi: 500},
		{RowGroup: 0, Lo: 100, Hi: 250},
		{RowGroup: 1, Lo: 250, Hi: 300},
		{RowGroup: 1, Lo: 0, Hi: 299},
		{RowGroup: 0, Lo: edges[1], Hi: edges[2]},
		{RowGroup: 0, Lo: edges[2] - 1, Hi: edges[3] + 1},
		{RowGroup: 0, Lo: edges[2] + 1, Hi: edges[3] - 1},
	} {
		whole := fetch(t, m, Rows{RowGroup: u.RowGroup, Hi: m.Groups()[u.RowGroup].Rows})
		raw := fetch(t, m, u)
		for i, c := range raw.chunks {
			index, err := theirs.RowGroups()[u.RowGroup].ColumnChunks()[i].OffsetIndex()
			if err != nil {
				t.Fatal(err)
			}
			var want []byte
			first, last := int64(-1), m.Groups()[u.RowGroup].Rows
			for k := range index.NumPages() {
				if k+1 < index.NumPages() && index.FirstRowIndex(k+1) <= u.Lo {
					continue
				}
				if index.FirstRowIndex(k) >= u.Hi {
					last = index.FirstRowIndex(k)
					break
				}
				if first < 0 {
					first = index.FirstRowIndex(k)
				}
				want = append(want, file[index.Offset(k):index.Offset(k)+index.CompressedPageSize(k)]...)
			}
			if !bytes.Equal(c.pages, want) || c.firstRow != first || c.lastRow != last {
				t.Errorf("%v, chunk %d: rows %d to %d, %d bytes; want rows %d to %d, %d bytes", u, i, c.firstRow, c.lastRow, len(c.pages), first, last, len(want))
			}
			if dict := file[whole.chunks[i].pagesOff:index.Offset(0)]; !bytes.Equal(c.dict, dict) {
				t.Errorf("%v, chunk %d: dictionary of %d bytes, want %d", u, i, len(c.dict), len(dict))
			}
			if len(c.pages) < len(whole.chunks[i].pages)/2 {
				sliced++
			}
		}
		if sum := heldBytes(raw); raw.Bytes() != sum {
			t.Errorf("%v: %d bytes are held, %d needed", u, raw.Bytes(), sum)
		}
	}
	if sliced < 6 {
		t.Errorf("only %d chunks were sliced", sliced)
	}
}

func heldBytes(r *Raw) int64 {
	n := 0
	for _, c := range r.chunks {
		n += len(c.dict) + len(c.pages)
	}
	return int64(n)
}

func TestFetchProjection(t *testing.T) {
	file := pagedFile(t, 200)
	store, shards := putFiles(t, map[string][]byte{"a.parquet": file})
	for _, views := range []bool{false, true} {
		recorder := &recordingStore{Store: store, noViews: !views}
		pool := &mem.Pool{}
		m, err := Open(context.Background(), recorder, shards, Options{Columns: []string{"tags", "id"}, Pool: (*Pool)(pool)})
		if err != nil {
			t.Fatal(err)
		}
		recorder.take()
		r := fetch(t, m, Rows{Hi: 200})
		reads := recorder.take()
		if len(reads) != 2 || r.Bytes() != m.Groups()[0].Compressed || r.mapped != views {
			t.Errorf("reads are %v, %d bytes of %d, mapped %v", reads, r.Bytes(), m.Groups()[0].Compressed, r.mapped)
		}
		for _, c := range r.chunks {
			if !bytes.Equal(c.pages, file[c.pagesOff:c.pagesOff+c.pagesLen]) {
				t.Errorf("column %s has other bytes than the file", c.leaf.Path)
			}
		}
		r.Release()
		if n := pool.Stats().InUse; n != 0 {
			t.Errorf("%d bytes of the pool are in use after the release", n)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// All columns of a row group lie side by side and are read at once.
func TestFetchMerges(t *testing.T) {
	store, shards := putFiles(t, map[string][]byte{"a.parquet": pagedFile(t, 200)})
	recorder := &recordingStore{Store: store}
	m, err := Open(context.Background(), recorder, shards, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	recorder.take()
	fetch(t, m, Rows{Hi: 200})
	if reads := recorder.take(); len(reads) != 1 {
		t.Errorf("reads are %v", reads)
	}
}

// A rangesStore notes the calls of ReadRanges, and lends what begins at an even byte when half is
// set.
type rangesStore struct {
	shard.Store
	half  bool
	calls [][]shard.Range
}

type rangesObject struct {
	shard.Object
	store *rangesStore
}

func (s *rangesStore) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, sh)
	return rangesObject{o, s}, err
}

func (o rangesObject) ReadRanges(ctx context.Context, ranges []shard.Range) error {
	o.store.calls = append(o.store.calls, ranges)
	for _, r := range ranges {
		if err := o.ReadAt(ctx, r.P, r.Off); err != nil {
			return err
		}
	}
	return nil
}

func (o rangesObject) Lend(off, n int64) (shard.Lease, error) {
	if !o.store.half || off%2 == 1 {
		return nil, errors.ErrUnsupported
	}
	return o.Object.(shard.Lender).Lend(off, n)
}

// What a store does not lend is read in one call per unit, of ranges that ascend and lie in its row
// group alone, into one buffer.
func TestFetchReadsAllSpansAtOnce(t *testing.T) {
	file := pagedFile(t, 300, 300, 300)
	store, shards := putFiles(t, map[string][]byte{"a.parquet": file})
	lent, read := 0, 0
	for _, half := range []bool{false, true} {
		ranges := &rangesStore{Store: store, half: half}
		pool := &mem.Pool{}
		m, err := Open(t.Context(), ranges, shards, Options{Columns: []string{"id", "text"}, Pool: (*Pool)(pool)})
		if err != nil {
			t.Fatal(err)
		}
		for g := range m.Groups() {
			for _, u := range []Rows{{RowGroup: g, Hi: 300}, {RowGroup: g, Lo: 90, Hi: 100}} {
				ranges.calls = nil
				raw := fetch(t, m, u)
				if len(ranges.calls) > 1 || len(ranges.calls) == 0 && !half {
					t.Fatalf("%v: %d calls", u, len(ranges.calls))
				}
				spans, held := m.Spans(g), int64(pool.Stats().InUse)
				if raw.Held() < raw.Bytes() || !half && raw.Held() != held {
					t.Errorf("%v: %d bytes are held for %d, %d of the pool", u, raw.Held(), raw.Bytes(), held)
				}
				for _, call := range ranges.calls {
					for i, r := range call {
						if i > 0 && r.Off <= call[i-1].Span().End() || r.Off < spans[0].Off || r.Span().End() > spans[len(spans)-1].End() {
							t.Errorf("%v: ranges %v, the row group's are %v", u, call, spans)
						}
					}
					read += len(call)
				}
				for _, c := range raw.chunks {
					if !bytes.Equal(c.pages, file[c.pagesOff:c.pagesOff+c.pagesLen]) || !bytes.Equal(c.dict, file[c.dictOff:c.dictOff+c.dictLen]) {
						t.Errorf("%v: column %s has other bytes than the file", u, c.leaf.Path)
					}
				}
				if raw.mapped {
					lent++
				}
				raw.Release()
			}
		}
		if n := pool.Stats().InUse; n != 0 {
			t.Errorf("%d bytes of the pool are in use after the release", n)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if lent == 0 || read < 12 {
		t.Errorf("%d units had lent bytes, %d ranges were read", lent, read)
	}
}

// The spans of a row group are what Fetch reads of it whole.
func TestSpans(t *testing.T) {
	store, shards := putFiles(t, map[string][]byte{"a.parquet": pagedFile(t, 200, 0, 70), "b.parquet": pagedFile(t, 90)})
	for _, columns := range [][]string{nil, {"id"}, {"tags", "id"}, {"label", "text"}} {
		recorder := &recordingStore{Store: store, noViews: true}
		m, err := Open(t.Context(), recorder, shards, Options{Columns: columns})
		if err != nil {
			t.Fatal(err)
		}
		for g, group := range m.Groups() {
			recorder.take()
			fetch(t, m, Rows{Shard: int(group.Shard), RowGroup: int(group.RowGroup), Hi: group.Rows}).Release()
			if spans, reads := m.Spans(g), recorder.take(); !slices.Equal(spans, reads) {
				t.Errorf("columns %v, group %d: %v, read are %v", columns, g, spans, reads)
			}
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestFetchErrors(t *testing.T) {
	store, shards := putFiles(t, map[string][]byte{"a.parquet": pagedFile(t, 50, 0, 50)})
	recorder := &recordingStore{Store: store, noViews: true}
	m, err := Open(context.Background(), recorder, shards, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, u := range []Rows{{Shard: 1, Hi: 1}, {Shard: -1}, {RowGroup: 3}, {RowGroup: -1}, {Lo: -1, Hi: 2}, {Lo: 3, Hi: 2}, {Hi: 51}} {
		if _, err := m.Fetch(context.Background(), u); err == nil {
			t.Errorf("%v is no error", u)
		}
	}
	recorder.setFail(errors.New("the wire is cut"))
	_, err = m.Fetch(context.Background(), Rows{RowGroup: 1, Hi: 50})
	if want := "mem://t/a.parquet: row group 1: the wire is cut"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	recorder.setFail(nil)
	if n := m.pool.Stats().InUse; n != 0 {
		t.Errorf("%d bytes of the pool are in use after an error", n)
	}
	fetch(t, m, Rows{RowGroup: 1, Hi: 50}).Release()
}

func TestPageEdges(t *testing.T) {
	m := openBytes(t, Options{Columns: []string{"id"}}, map[string][]byte{"a.parquet": pagedFile(t, 500)})
	edges := m.PageEdges(0)
	r, _ := m.groupRecord(0)
	lo, hi := r.Pages(r.Chunk(2, 0)) // text is the widest, though it is not projected
	if len(edges) < 5 || edges[0] != 0 || len(edges) != hi-lo || !slices.IsSorted(edges) {
		t.Errorf("edges are %v", edges)
	}
	whole := m.SlicedBytes(0, nil)
	if whole != m.Groups()[0].Bytes {
		t.Errorf("%d bytes in one slice, the row group has %d", whole, m.Groups()[0].Bytes)
	}
	even := m.SlicedBytes(0, []int64{edges[2]})
	odd := m.SlicedBytes(0, []int64{edges[2] + 1})
	if even <= whole || odd <= even || odd > 2*whole {
		t.Errorf("%d bytes in one slice, %d cut at a page, %d cut beside it", whole, even, odd)
	}
}

func TestNoPageIndex(t *testing.T) {
	m := openBytes(t, Options{}, map[string][]byte{"a.parquet": filetest.File{Schema: `required int32 a; required int32 b;`, Rows: []int{10}}.Bytes(t)})
	if edges := m.PageEdges(0); edges != nil {
		t.Errorf("edges are %v", edges)
	}
	if n := m.SlicedBytes(0, []int64{3, 6}); n != 3*m.Groups()[0].Bytes {
		t.Errorf("%d bytes in three slices of %d", n, m.Groups()[0].Bytes)
	}
	if r := fetch(t, m, Rows{Lo: 3, Hi: 6}); r.Bytes() != 200 || r.chunks[0].firstRow != 0 || r.chunks[0].lastRow != 10 {
		t.Errorf("%d bytes, rows %d to %d", r.Bytes(), r.chunks[0].firstRow, r.chunks[0].lastRow)
	}
}

// A store that panics in a read leaves neither a buffer nor an open shard behind.
func TestFetchPanic(t *testing.T) {
	store, shards := putFiles(t, map[string][]byte{"a.parquet": pagedFile(t, 50)})
	broken := &recordingStore{Store: store, noViews: true}
	pool := &mem.Pool{}
	m, err := Open(t.Context(), broken, shards, Options{Pool: (*Pool)(pool)})
	if err != nil {
		t.Fatal(err)
	}
	broken.setFail(errPanic)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = m.Fetch(t.Context(), Rows{Hi: 50})
	}()
	if err := m.Close(); err != nil || broken.open != 0 || pool.Stats().InUse != 0 {
		t.Errorf("%v, %d open shards, %+v of the pool", err, broken.open, pool.Stats())
	}
}
