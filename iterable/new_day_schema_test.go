package iterable

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A soldRecord is a row of a table whose columns change with the days.
type soldRecord struct {
	ID    int64   `parquet:"id"`
	Price float32 `parquet:"price"`
	Shop  struct {
		Name string `parquet:"name"`
	} `parquet:"shop"`
}

func putSold(t testing.TB, store *memstore.Store, name string, id int64, rows int) {
	t.Helper()
	store.Put(name, writeShard(t, []int{rows}, func() soldRecord {
		id++
		return soldRecord{ID: id - 1, Price: float32(id)}
	}))
}

// putOther adds a shard of other columns.
func putOther[T any](t testing.TB, name string, rows ...T) func(*memstore.Store) {
	return func(store *memstore.Store) {
		t.Helper()
		next := slices.Clone(rows)
		store.Put(name, writeShard(t, []int{len(rows)}, func() (r T) {
			r, next = next[0], next[1:]
			return r
		}))
	}
}

// Shards that the filter excludes change no columns, whatever columns they have.
func TestNewDayOfOtherColumns(t *testing.T) {
	type lacking struct {
		ID int64 `parquet:"id"`
	}
	type retyped struct {
		ID    int64  `parquet:"id"`
		Price string `parquet:"price"`
		Shop  string `parquet:"shop"`
	}
	type member struct {
		ID    int64   `parquet:"id"`
		Price float32 `parquet:"price"`
		Shop  struct {
			City string `parquet:"city"`
		} `parquet:"shop"`
	}
	type wider struct {
		ID    int64   `parquet:"id"`
		Price float64 `parquet:"price"`
		Shop  struct {
			Name string `parquet:"name"`
		} `parquet:"shop"`
		More int64 `parquet:"more"`
	}
	const last = "data/day=27/p.parquet"
	for name, grows := range map[string]func(*memstore.Store){
		"lacks columns": putOther(t, last, lacking{ID: 9000}),
		"lacks all":     putOther(t, last, struct{ Other int64 }{1}),
		"other types":   putOther(t, last, retyped{ID: 9000, Price: "1", Shop: "x"}),
		"other members": putOther(t, last, member{ID: 9000}),
		"wider types":   putOther(t, last, wider{ID: 9000}),
		"first of all":  putOther(t, "data/day=01/p.parquet", retyped{ID: 9000, Price: "1"}),
	} {
		for _, filter := range []string{"day in (25, 26) and id < 4000", "day in (25, 26) and id < 4000 and price > 0 and shop.name = ''"} {
			for _, missing := range []bool{false, true} {
				for _, column := range []string{"price", "shop", "*ri*"} {
					t.Run(fmt.Sprintf("%s, %s, missing %t, %s", name, column, missing, filter), func(t *testing.T) {
						o := Options{Choice: Choice{Filters: filter}, Reading: Reading{MissingIsNull: missing, Columns: []string{"id", column}}}
						testNewDayOfColumns(t, o, grows)
					})
				}
			}
		}
	}
}

func testNewDayOfColumns(t *testing.T, o Options, grows func(*memstore.Store)) {
	store := &memstore.Store{}
	for day := 25; day <= 26; day++ {
		putSold(t, store, fmt.Sprintf("data/day=%d/p.parquet", day), int64(100*(day-25)), 30)
	}
	o.Shuffle, o.Seed = true, 5
	so := StreamOptions{BatchSize: 2, Tail: shuffle.Pad}
	d := open(t, store, o)
	want, _ := globalRows(t, d, 1, so, 0)
	fields := fieldsText(d)
	begin, err := d.Start(1, so)
	if err != nil {
		t.Fatal(err)
	}

	grows(store)
	d = open(t, store, o)
	if got := fieldsText(d); got != fields {
		t.Errorf("columns %s, want %s", got, fields)
	}
	if now, err := d.Start(1, so); err != nil || string(now.JSON()) != string(begin.JSON()) {
		t.Errorf("a run would start at\n%s, want\n%s (%v)", now.JSON(), begin.JSON(), err)
	}
	if got, _ := globalRows(t, d, 1, so, 0); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("rows %v, want %v", got, want)
	}
}

func fieldsText(d *Dataset) (text string) {
	for _, f := range d.Schema().Fields {
		text += fmt.Sprintf("%s %v null=%t\n", f.Name, f, f.Nullable)
	}
	return text
}

// A shard of other columns counts where one of its rows may be chosen.
func TestOtherColumnsThatCount(t *testing.T) {
	type lacking struct {
		ID int64 `parquet:"id"`
	}
	for filter, fails := range map[string]bool{
		"day < 27":                       false,
		"id < 4000":                      true,
		"id <= 9000":                     true,
		"id < 4000 or day = 27":          true,
		"price > 0":                      true,
		"price is null":                  true,
		"day < 27 and price is null":     false,
		"not (id >= 4000) or price > 10": true,
	} {
		t.Run(filter, func(t *testing.T) {
			store := &memstore.Store{}
			putSold(t, store, "data/day=26/p.parquet", 0, 30)
			putOther(t, "data/day=27/p.parquet", lacking{9000}, lacking{9001})(store)
			d, err := Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, Options{Choice: Choice{Filters: filter}, Reading: Reading{Columns: []string{"id", "price"}}})
			if d != nil {
				defer d.Close()
			}
			if errors.Is(err, rowgroup.ErrMissingColumn) != fails || err != nil && !fails && !errors.Is(err, ErrNoRow) {
				t.Errorf("error %v, want one about the column: %t", err, fails)
			}
		})
	}
}
