package rowgroup

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/shard"
)

// However many footers are read at once, the error is that of the first bad shard in order.
func TestOpenFirstError(t *testing.T) {
	files := manyFiles(t, 60)
	for _, i := range []int{17, 18, 40, 59} {
		files[fmt.Sprintf("%04d.parquet", i)] = []byte("no parquet file at all")
	}
	store, shards := putFiles(t, files)
	for _, late := range []int{17, 18} {
		slow := slowStore{store, shards[late].URI}
		for _, parallel := range []int{1, 4, 64} {
			_, err := Open(context.Background(), slow, shards, Options{Parallel: parallel})
			if err == nil || !strings.HasPrefix(err.Error(), "mem://t/0017.parquet: not a parquet file: ") || !errors.Is(err, ErrNotParquet) {
				t.Errorf("%d at once, %d late: error is %v", parallel, late, err)
			}
		}
	}
}

// slowStore opens one shard later than the others.
type slowStore struct {
	shard.Store
	uri string
}

func (s slowStore) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	if sh.URI == s.uri {
		time.Sleep(20 * time.Millisecond)
	}
	return s.Store.Open(ctx, sh)
}

func TestOpenCancelled(t *testing.T) {
	store, shards := putFiles(t, manyFiles(t, 20))
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Open(ctx, store, shards, Options{Parallel: 2, Events: footer.Events{FootersRead: func(n, of int) {
		if of != 20 {
			t.Errorf("%d of %d footers", n, of)
		}
		if n == 5 {
			cancel()
		}
	}}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

// Files that were written together and then changed are named when they are opened, not read
// wrongly.
func TestOpenChanged(t *testing.T) {
	store, shards := putFiles(t, manyFiles(t, 3))
	shards[1].Version += "x"
	_, err := Open(context.Background(), store, shards, Options{})
	if !errors.Is(err, shard.ErrChanged) || !strings.HasPrefix(err.Error(), shards[1].URI+": ") || strings.Count(err.Error(), shards[1].URI) != 1 {
		t.Errorf("error is %v", err)
	}
}

func TestOpenNothing(t *testing.T) {
	m, err := Open(context.Background(), nil, nil, Options{})
	if err != nil || m.NumRows() != 0 || len(m.Groups()) != 0 || len(m.Schema().Fields) != 0 {
		t.Errorf("error %v", err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func TestOptions(t *testing.T) {
	o := Options{Parallel: -1, Columns: []string{}}
	_, err := Open(context.Background(), nil, nil, o)
	for _, want := range []string{"parallel is -1", "no columns"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
	if err := (Options{}).withDefaults(nil, nil).Validate(); err != nil {
		t.Error(err)
	}
}

// The manifest of a data set that is missing a column here and there.
func TestOpenMissing(t *testing.T) {
	store, shards := putFiles(t, map[string][]byte{
		"a.parquet": filetest.File{Schema: `required int32 x; required int32 y;`, Rows: []int{3}}.Bytes(t),
		"b.parquet": filetest.File{Schema: `required int32 x;`, Rows: []int{4}}.Bytes(t),
	})
	_, err := Open(context.Background(), store, shards, Options{})
	const want = `mem://t/b.parquet: column "y": there is no such column here; mem://t/a.parquet has it`
	if !errors.Is(err, ErrMissingColumn) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error is %v", err)
	}
	m, err := Open(context.Background(), store, shards, Options{MissingIsNull: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if f := m.Schema().Fields[1]; !f.Nullable || m.NumRows() != 7 {
		t.Errorf("column y is %v, nullable %v; %d rows", f, f.Nullable, m.NumRows())
	}
	if r := fetch(t, m, Rows{Shard: 1, Hi: 4}); len(r.chunks) != 1 || !r.columns[1].Missing {
		t.Errorf("%d chunks", len(r.chunks))
	}
}

// Every column that no shard has is named, with those most like it.
func TestUnknownColumns(t *testing.T) {
	store, shards := putFiles(t, map[string][]byte{
		"a.parquet": filetest.File{Schema: `required int32 id; required int32 name;`, Rows: []int{3}}.Bytes(t),
	})
	for _, columns := range [][]string{{"idd"}, {"idd", "id", "nmae"}} {
		t.Run(strings.Join(columns, " "), func(t *testing.T) {
			_, err := Open(t.Context(), store, shards, Options{Columns: columns})
			if !errors.Is(err, ErrMissingColumn) {
				t.Errorf("not ErrMissingColumn: %v", err)
			}
			for _, c := range columns {
				if c != "id" && (err == nil || !strings.Contains(err.Error(), strconv.Quote(c))) {
					t.Errorf("%s is not named: %v", c, err)
				}
			}
		})
	}
}
