package iterable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
)

// Verify finds all that is damaged, row groups and footers, and the rows file has the rest.
func TestVerify(t *testing.T) {
	groups, rows := uneven()
	for _, memory := range []int64{0, 1} { // 1 byte: one row group at a time
		t.Run(fmt.Sprint(memory), func(t *testing.T) {
			store := files(t, groups, noImage)
			damage(t, store, "data/part-002.parquet", 3)
			damage(t, store, "data/part-004.parquet", 0)
			damage(t, store, "data/part-004.parquet", 9)
			store.Put("data/part-009.parquet", readShard(t, store, "data/part-000.parquet")[:500])
			last := int64(0)
			v, err := Verify(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, Options{Resources: Resources{Memory: memory}}, func(n, of int64) {
				if n <= last && n != of || of != rows {
					t.Errorf("%d of %d rows after %d", n, of, last)
				}
				last = n
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var places []string
			for _, x := range v.Lost {
				places = append(places, fmt.Sprintf("%s %d %d-%d", x.URI[len(x.URI)-11:len(x.URI)-8], x.RowGroup, x.Lo, x.Hi))
			}
			if want := []string{"002 3 0-25", "004 0 0-40", "004 9 0-40", "009 -1 0-0"}; !slices.Equal(places, want) {
				t.Errorf("lost are %v, want %v", places, want)
			}
			if v.Shards != 7 || v.RowGroups != 40-1 || v.Rows != rows || v.LostRows != 105 || last != rows || v.Read == 0 {
				t.Errorf("found %d shards, %d row groups, %d rows of which %d are lost; told of %d", v.Shards, v.RowGroups, v.Rows, v.LostRows, last)
			}
			if n := keptRows(t, v); n != rows-105 {
				t.Errorf("the file keeps %d rows, want %d", n, rows-105)
			}
		})
	}
}

// keptRows counts the rows that the file of the good rows keeps.
func keptRows(t *testing.T, v *Verification) (n int64) {
	t.Helper()
	var file bytes.Buffer
	if err := v.WriteGood(&file); err != nil {
		t.Fatal(err)
	}
	list, err := rule.ParseRowList(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := list.Match(v.data, rule.RefuseNew, nil)
	if err != nil {
		t.Fatal(err)
	}
	for g, group := range v.data.Groups {
		n += kept.Count(g, 0, group.Rows)
	}
	return n
}

// Other errors end it: it says nothing about data that it could not read.
func TestVerifyStops(t *testing.T) {
	groups, _ := uneven()
	denied := &failing{Store: files(t, groups, noImage)}
	denied.fail.Store(&shard.ErrDenied)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name  string
		ctx   context.Context
		store shard.Store
		want  error
	}{
		{"denied", t.Context(), denied, shard.ErrDenied},
		{"cancelled", ended, files(t, groups, noImage), context.Canceled},
		{"nothing there", t.Context(), &memstore.Store{}, shard.ErrNotExist},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Verify(c.ctx, shard.Stores{"mem": c.store}, []string{"mem://data/"}, Options{}, nil, nil); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

// A row group whose rows take more memory than there is for one is decoded in steps, and its damage
// is found in any of them.
func TestVerifyInSteps(t *testing.T) {
	type row struct {
		ID   int64
		Text string
		Tags []string
	}
	rows := make([]row, 5000)
	for i := range rows {
		rows[i] = row{ID: int64(i), Text: strings.Repeat(fmt.Sprint(i), 20), Tags: []string{"a", fmt.Sprint(i)}[:i%3%2+i%2]}
	}
	var b bytes.Buffer
	w := parquetgo.NewGenericWriter[row](&b, parquetgo.PageBufferSize(1<<12))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, 9, 5, 2} { // tenths of the file
		store := &memstore.Store{}
		file := bytes.Clone(b.Bytes())
		if at > 0 {
			for i := range 64 {
				file[len(file)*at/20+i] ^= 0xff
			}
		}
		store.Put("data/a.parquet", file)
		v, err := Verify(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, Options{Resources: Resources{Memory: 1}}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if lost := min(1, at); len(v.Lost) != lost || v.LostRows != int64(lost*5000) {
			t.Errorf("damaged at %d: lost are %v", at, v.Lost)
		}
	}
}

// What a check finds is lost row by row, however few rows are decoded at once.
func TestVerifyChecks(t *testing.T) {
	groups, rows := uneven()
	for _, memory := range []int64{0, 1} {
		store := files(t, groups, noImage)
		damage(t, store, "data/part-002.parquet", 3)
		var calls atomic.Int64
		v, err := Verify(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, Options{Resources: Resources{Memory: memory}}, nil,
			func(context.Context, *rowgroup.Reader) (Check, error) {
				return func(_ context.Context, blocks []*rowgroup.Block) (bad []BadRow, err error) {
					calls.Add(1)
					return []BadRow{{Row: 0, Column: "a", Err: errors.New("odd")}, {Row: 0, Column: "b", Err: errors.New("odd")}}, nil
				}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		n := calls.Load()
		if v.LostRows != n+25 || len(v.Lost) != int(2*n)+1 {
			t.Fatalf("%d rows are lost, %d places, after %d checks", v.LostRows, len(v.Lost), n)
		}
		if x := v.Lost[0]; x.Hi-x.Lo != 1 || x.Column != "a" || !strings.HasSuffix(x.Err.Error(), `part-000.parquet: row group 0, column "a": row 0: odd`) {
			t.Errorf("the first place is %+v", x)
		}
		if good := keptRows(t, v); good != rows-v.LostRows {
			t.Errorf("the file keeps %d rows, want %d", good, rows-v.LostRows)
		}
	}
}
