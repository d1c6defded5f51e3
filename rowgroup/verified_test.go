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

	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/racetest"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/shard"
)

// A lender is a store that lends copies of its bytes, and destroys verified bytes: a reader that
// touches them again decodes something else.
type lender struct {
	shard.Store
	damagedAt int64 // a byte that is never right; -1 for none

	verified  []shard.Span
	lent      []shard.Span
	forgotten int // bytes
}

type lentObject struct {
	shard.Object
	store *lender
}

func (l *lender) Open(ctx context.Context, s shard.Shard) (shard.Object, error) {
	o, err := l.Store.Open(ctx, s)
	return &lentObject{Object: o, store: l}, err
}

func (o *lentObject) Lend(off, n int64) (shard.Lease, error) {
	l := &testLease{store: o.store, off: off, bytes: make([]byte, n)}
	o.store.lent = append(o.store.lent, shard.Span{Off: off, N: n})
	return l, o.ReadAt(context.Background(), l.bytes, off)
}

type testLease struct {
	store *lender
	off   int64
	bytes []byte // nil after Release
}

func (l *testLease) Bytes() []byte { return l.bytes }

func (l *testLease) Verify(used shard.Span) error {
	if used.N == 0 {
		return nil
	}
	b := l.bytes[used.Off-l.off:][:used.N]
	for i := range b {
		b[i] ^= 0xff
	}
	l.store.verified = append(l.store.verified, used)
	if at := l.store.damagedAt; at >= used.Off && at < used.End() {
		return shard.ErrCorrupt
	}
	return nil
}

func (l *testLease) Forget(used shard.Span) {
	l.store.forgotten += len(l.bytes[used.Off-l.off:][:used.N])
}

func (l *testLease) Release() { l.bytes = nil }

type wideRow struct {
	ID    int64    `parquet:"id,plain"`
	Image []byte   `parquet:"image,plain"`
	Text  string   `parquet:"text,plain"`
	Label string   `parquet:"label,dict"`
	Name  string   `parquet:"name,delta"`
	Tags  []string `parquet:"tags,list"`
	Pairs []struct {
		A int64    `parquet:"a,delta"`
		B []string `parquet:"b,list"`
	} `parquet:"pairs,list"`
}

// wideFile has a row group of pages of so many bytes, of which the images do not compress.
func wideFile(t *testing.T, codec parquetgo.WriterOption, page, version int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquetgo.NewGenericWriter[wideRow](&b, parquetgo.PageBufferSize(page), codec, parquetgo.DataPageVersion(version))
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		image := make([]byte, 5000+r.IntN(5000))
		for k := range image {
			image[k] = byte(r.Uint32())
		}
		row := wideRow{ID: int64(i), Image: image, Text: fmt.Sprint("text ", i), Label: fmt.Sprint("label ", i%7), Name: fmt.Sprint("name ", i), Tags: []string{"a", fmt.Sprint(i % 5)}}
		row.Pairs = append(row.Pairs, struct {
			A int64    `parquet:"a,delta"`
			B []string `parquet:"b,list"`
		}{int64(i * i), row.Tags})
		if _, err := w.Write([]wideRow{row}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// decodeLent decodes the file's row group from a store that lends.
func decodeLent(t *testing.T, file []byte, damagedAt int64, l Layout) ([]*Block, *lender, error) {
	t.Helper()
	store, shards := putFiles(t, map[string][]byte{"a.parquet": file})
	from := &lender{Store: store, damagedAt: damagedAt}
	m, err := Open(t.Context(), from, shards, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	raw := fetch(t, m, Rows{Hi: 300})
	from.verified = nil
	d := newDecoder(&mem.Pool{}, false)
	t.Cleanup(d.Close)
	blocks, err := d.Decode(raw, l)
	return blocks, from, err
}

func allRows(blocks []*Block) string {
	var all strings.Builder
	for _, b := range blocks {
		for i := range b.Rows() {
			for _, v := range block.Columns(b) {
				if v.Field.Kind == column.Binary && v.Nulls == 0 {
					all.Write(binaryValue(v, v.Place(i)))
				} else {
					all.WriteString(dump(v, v.Place(i)))
				}
			}
		}
	}
	return all.String()
}

// TestVerifiedAfterUse: each lent byte is verified once or more, and not touched afterwards.
func TestVerifiedAfterUse(t *testing.T) {
	part := make([]uint8, 300)
	for i := range part {
		part[i] = uint8(1 + i%3)
	}
	order := byPart(Layout{Part: part})
	for name, codec := range map[string]parquetgo.WriterOption{
		"snappy": parquetgo.Compression(&parquetgo.Snappy), "zstd": parquetgo.Compression(&parquetgo.Zstd), "plain": parquetgo.Compression(&parquetgo.Uncompressed),
	} {
		for _, page := range []int{20_000, 200_000, 10_000_000} {
			if racetest.Enabled && page == 200_000 { // between the others; all are read without the detector
				continue
			}
			for version := 1; version <= 2; version++ {
				file := wideFile(t, codec, page, version)
				for _, l := range []Layout{{}, {Part: part, Parts: 3, Order: order}} {
					t.Run(fmt.Sprintf("%s/%d/v%d/%d parts", name, page, version, l.Parts), func(t *testing.T) {
						m := openBytes(t, Options{}, map[string][]byte{"a.parquet": file})
						d := newDecoder(&mem.Pool{}, false)
						defer d.Close()
						want, err := d.Decode(fetch(t, m, Rows{Hi: 300}), l)
						if err != nil {
							t.Fatal(err)
						}
						got, from, err := decodeLent(t, file, -1, l)
						if err != nil {
							t.Fatal(err)
						}
						if allRows(got) != allRows(want) {
							t.Error("bytes that were verified are used again")
						}
						if v := footer.MergeSpans(from.verified); !slices.Equal(v, footer.MergeSpans(from.lent)) {
							t.Errorf("%v was lent, %v verified", from.lent, v)
						}
						if least := len(file) - forgetBytes - 2*recheckBytes; from.forgotten < least {
							t.Errorf("%d bytes of %v were forgotten, want %d", from.forgotten, from.lent, least)
						}
						if page == 10_000_000 && name == "snappy" && version == 1 && len(from.verified) < 6 {
							t.Errorf("one large page was verified in %d pieces", len(from.verified))
						}
					})
				}
			}
		}
	}
}

// TestDamageIsFound: wherever a lent byte is not right, nothing that was decoded is given out.
func TestDamageIsFound(t *testing.T) {
	file := wideFile(t, parquetgo.Compression(&parquetgo.Snappy), 10_000_000, 1)
	_, whole, err := decodeLent(t, file, -1, Layout{})
	if err != nil {
		t.Fatal(err)
	}
	spans := footer.MergeSpans(whole.lent)
	last := spans[len(spans)-1].End() - 1
	for at := spans[0].Off; at < last+200_000; at += 200_000 {
		if _, _, err := decodeLent(t, file, min(at, last), Layout{}); !errors.Is(err, shard.ErrCorrupt) {
			t.Errorf("byte %d is not right: %v", min(at, last), err)
		}
	}
}
