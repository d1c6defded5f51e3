package rowgroup

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/shard"
)

// knownOf are the footers of a manifest after a trip through bytes.
func knownOf(t testing.TB, m *Reader) (all []footer.Known) {
	t.Helper()
	for shards, block := range m.Known() {
		some, err := footer.ParseKnown(block, shards)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	return all
}

// Known footers stand for those of the shards, which are not opened.
func TestKnown(t *testing.T) {
	files := manyFiles(t, 30)
	files["0031.parquet"] = filetest.File{Schema: `optional int64 other;`, Rows: []int{3, 0, 5}}.Bytes(t)
	store, shards := putFiles(t, files)
	o := Options{MissingIsNull: true}
	first, err := Open(t.Context(), store, shards, o)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	known := knownOf(t, first)
	again, err := OpenParts(t.Context(), closedStore{}, []Part{{Shards: shards, Footers: known}}, o)
	if err != nil {
		t.Fatal(err)
	}
	m := again[0]
	if m.NumRows() != first.NumRows() || !slices.Equal(m.Groups(), first.Groups()) || len(m.Schema().Fields) != len(first.Schema().Fields) {
		t.Errorf("%d rows, %d groups; want %d, %d", m.NumRows(), len(m.Groups()), first.NumRows(), len(first.Groups()))
	}
	for g := range m.Groups() {
		if !slices.Equal(m.Spans(g), first.Spans(g)) || !slices.Equal(m.PageEdges(g), first.PageEdges(g)) {
			t.Errorf("group %d differs", g)
		}
	}
	var seen []int
	o.Events.FootersRead = func(n, of int) { seen = append(seen, n, of) }
	unversioned := slices.Clone(shards)
	unversioned[2].Version = ""
	for name, p := range map[string]Part{
		"some": {Shards: shards, Footers: known[:30]}, "one unknown": {Shards: shards, Footers: append(slices.Clone(known[:30]), footer.Known{})},
		"no version": {Shards: unversioned, Footers: known},
	} {
		if _, err := OpenParts(t.Context(), closedStore{}, []Part{p}, o); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenParts(t.Context(), closedStore{}, []Part{{Shards: shards, Footers: known}}, o); err != nil || !slices.Equal(seen, []int{31, 31}) {
		t.Errorf("%v, seen %v", err, seen)
	}
}

// closedStore opens nothing.
type closedStore struct{ shard.Store }

func (closedStore) Open(_ context.Context, s shard.Shard) (shard.Object, error) {
	return nil, &shard.Error{Op: "closed", URI: s.URI, Err: shard.ErrDenied}
}

func (closedStore) Identity(uri string) string { return uri }

// FuzzKnown: whatever a block holds is footers or an error.
func FuzzKnown(f *testing.F) {
	store, shards := putFiles(f, manyFiles(f, 3))
	m, err := Open(f.Context(), store, shards, Options{})
	if err != nil {
		f.Fatal(err)
	}
	for _, block := range m.Known() {
		f.Add(block, 3)
	}
	f.Fuzz(func(_ *testing.T, block []byte, shards int) {
		_, _ = footer.ParseKnown(block, shards)
	})
}
