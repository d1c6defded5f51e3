package table

import (
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
)

// Row IDs stay in a pin. A column of the table that has their name wins.
func TestTrackRows(t *testing.T) {
	shards := []shard.Shard{{URI: "a"}, {URI: "b"}}
	s := &Snapshot{Files: []File{{Shard: shards[0], Rows: 3, FirstRow: 70}, {Shard: shards[1], Rows: 2, FirstRow: -1}}}
	if s.TracksRows() || s.FirstRows() != nil {
		t.Error("a table has IDs that it does not track")
	}
	s.TrackRows(9, "stored")
	s.TrackRows(9, "stored")
	text, err := s.Pin()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Unpin(text, shards)
	if err != nil {
		t.Fatal(err)
	}
	f := again.Fields
	if len(f) != 1 || !f[0].RowIDs || f[0].ID != 9 || !slices.Equal(f[0].Names, []string{"stored"}) || !f[0].Column.Nullable {
		t.Errorf("fields are %+v", f)
	}
	if got := again.FirstRows(); !slices.Equal(got, []int64{70, -1}) {
		t.Errorf("first rows are %v", got)
	}
	if _, err := Unpin(slices.Replace(text, 0, len(text), []byte(`{"rows":[1,2],"first":[1]}`)...), shards); err == nil {
		t.Error("IDs of one file of two are read")
	}
	own := &Snapshot{Fields: []Field{{Column: &column.Field{Name: RowID}}}, Files: s.Files}
	if own.TrackRows(9); len(own.Fields) != 1 || own.FirstRows() != nil || own.TracksRows() {
		t.Errorf("fields are %+v", own.Fields)
	}
}
