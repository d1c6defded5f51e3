package rowgroup

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
)

// Without a page index the first data page, behind the dictionary, tells the size of pages.
func TestPageSizes(t *testing.T) {
	b := pagedFile(t, 500)
	indexed, err := footerOf(t, b)
	if err != nil {
		t.Fatal(err)
	}
	end := len(b) - parquet.TailBytes
	var m format.FileMetaData
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), b[end-footerSize(b):end], &m); err != nil {
		t.Fatal(err)
	}
	for i := range m.RowGroups[0].Columns {
		m.RowGroups[0].Columns[i].OffsetIndexOffset, m.RowGroups[0].Columns[i].OffsetIndexLength = 0, 0
	}
	store, shards := putFiles(t, map[string][]byte{"a.parquet": filetest.AppendFooter(t, b[:end-footerSize(b)], &m)})
	footers, err := Footers(t.Context(), store, shards, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &footers[0]
	sizes, err := PageSizes(t.Context(), store, shards, firstPages(footers), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range f.Leaves {
		page := indexed.Chunks[i].Pages[0]
		var header parquet.PageHeader
		if err := parquet.ParsePageHeader(b[indexed.Chunks[i].Start+page.Off:], &header); err != nil {
			t.Fatal(err)
		}
		if want := page.Size - int64(header.Bytes); sizes[i] != want || len(f.Chunk(l, 0).Pages) != 0 {
			t.Errorf("column %s: the first page has %d bytes, want %d", l.Path, sizes[i], want)
		}
	}
}

// firstPages are the first data pages of each column, in the first row groups.
func firstPages(footers []footer.Footer) (all []PageAt) {
	for i := range footers {
		for _, l := range footers[i].Leaves {
			c := footers[i].Chunk(l, 0)
			all = append(all, PageAt{Shard: i, Column: l.Path, Off: c.Data, N: c.DataBytes})
		}
	}
	return all
}

// Page headers are read side by side, and the first error in order
// is the one.
func TestPageSizesSideBySide(t *testing.T) {
	store, shards := putFiles(t, manyFiles(t, 60))
	far := &farStore{Store: store, latency: 10 * time.Millisecond}
	footers, err := Footers(t.Context(), store, shards, Options{})
	if err != nil {
		t.Fatal(err)
	}
	pages := firstPages(footers)
	sizes, err := PageSizes(t.Context(), far, shards, pages, Options{})
	if err != nil || len(pages) != 120 || len(sizes) != len(pages) {
		t.Fatalf("%d sizes of %d pages, error %v", len(sizes), len(pages), err)
	}
	if n, most := far.reads.Load(), far.most.Load(); n != 120 || most < 20 || most > 64 {
		t.Errorf("%d reads, %d at a time", n, most)
	}
	broken := &recordingStore{Store: store, noViews: true, fail: errors.New("the wire is cut")}
	if _, err = PageSizes(t.Context(), broken, shards, pages, Options{}); err == nil || !strings.HasPrefix(err.Error(), shards[0].URI) {
		t.Errorf("error %v", err)
	}
	if broken.open != 0 {
		t.Errorf("%d shards stay open", broken.open)
	}
}
