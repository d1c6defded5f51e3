package table

import (
	"reflect"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
)

// testSnapshot has two files of 100 and 70 rows, of which rows 10 to 39 and 60 to 69 of the second
// are deleted.
func testSnapshot() *Snapshot {
	s := &Snapshot{
		Format: "Delta", Table: "t", Name: "9", Asked: "9",
		Fields: []Field{{Column: &column.Field{Name: "a", Kind: column.Fixed, Type: column.TypeInt32, Width: 4}, ID: 3, Names: []string{"a"}}},
		Files:  []File{{Shard: shard.Shard{URI: "x"}, Rows: 100}, {Shard: shard.Shard{URI: "y"}, Rows: 70, Constants: []Constant{{Value: Value{Data: []byte{1, 0, 0, 0}}}}}},
	}
	s.Files[1].Delete(ByPosition, 10, 40)
	s.Files[1].Delete(ByEquality, 60, 70)
	return s
}

func TestLive(t *testing.T) {
	s := testSnapshot()
	l := NewLive(s.Files, []int32{0, 1, 1}, []int64{100, 30, 40})
	for _, c := range []struct {
		group          int
		lo, hi, expect int64
	}{{0, 0, 100, 100}, {1, 0, 30, 10}, {1, 8, 12, 2}, {2, 0, 40, 20}, {2, 9, 31, 20}, {2, 30, 40, 0}} {
		if n := l.Count(c.group, c.lo, c.hi); n != c.expect {
			t.Errorf("rows %d to %d of group %d: %d are live, want %d", c.lo, c.hi, c.group, n, c.expect)
		}
		keep, ones := []uint64{^uint64(0), ^uint64(0)}, int64(0)
		l.And(c.group, c.lo, c.hi, keep)
		for row := c.lo; row < c.hi; row++ {
			ones += int64(keep[(row-c.lo)/64] >> ((row - c.lo) % 64) & 1)
		}
		if ones != c.expect {
			t.Errorf("rows %d to %d of group %d: %d bits are left, want %d", c.lo, c.hi, c.group, ones, c.expect)
		}
	}
	if l.Digest(0) != nil || l.Digest(1) == nil {
		t.Error("the digests are not of the deleted rows")
	}
	if NewLive(s.Files[:1], []int32{0}, []int64{100}) != nil {
		t.Error("a table without deleted rows has a mask")
	}
}

func TestPin(t *testing.T) {
	s := testSnapshot()
	text, err := s.Pin()
	if err != nil {
		t.Fatal(err)
	}
	shards := []shard.Shard{{URI: "x"}, {URI: "y"}}
	back, err := Unpin(text, shards)
	if err != nil || !reflect.DeepEqual(back.Fields, s.Fields) || back.Name != "9" || back.Asked != "9" {
		t.Fatalf("got %+v, %v", back, err)
	}
	for i := range s.Files {
		f, g := &s.Files[i], &back.Files[i]
		if !reflect.DeepEqual(f.Constants, g.Constants) || f.Rows != g.Rows || string(f.Deleted.bytes()) != string(g.Deleted.bytes()) || f.Deleted.Len() != g.Deleted.Len() || f.DeletedBy != g.DeletedBy {
			t.Errorf("file %d is %+v, want %+v", i, g, f)
		}
	}
	for name, bad := range map[string]struct {
		text   string
		shards []shard.Shard
	}{
		"no JSON":         {"{", shards},
		"other shards":    {string(text), shards[:1]},
		"deleted of none": {`{"rows":[1,1],"deleted":[{"file":2,"bits":""}]}`, shards},
		"half a word":     {`{"rows":[1,1],"deleted":[{"file":1,"bits":"AAAA"}]}`, shards},
		"no such list":    {`{"rows":[1,1],"constant":[0,3]}`, shards},
		"no such field":   {`{"rows":[1,1],"constant":[0,1],"constants":[[{"Field":4}]]}`, shards},
	} {
		if _, err := Unpin([]byte(bad.text), bad.shards); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCut(t *testing.T) {
	for address, want := range map[string][2]string{
		"delta+s3://b/t": {"delta", "s3://b/t"}, "iceberg+/a/b": {"iceberg", "/a/b"}, "iceberg://c/d.t": {"iceberg", "iceberg://c/d.t"},
		"s3://b/delta+x": {"", "s3://b/delta+x"}, "./delta+x": {"", "./delta+x"}, "delta+": {"", "delta+"}, "hudi+s3://b": {"", "hudi+s3://b"},
	} {
		if format, at := Cut(address); format != want[0] || at != want[1] {
			t.Errorf("%s: %q, %q, want %q", address, format, at, want)
		}
	}
}

// A snapshot without live rows says why, if it knows.
func TestEmpty(t *testing.T) {
	var none *Snapshot
	s := &Snapshot{Format: "Hive", Name: "current"}
	if none.Empty() != "" || !strings.Contains(s.Empty(), "the Hive table has no files in snapshot current; if it should have rows, check its location") {
		t.Errorf("%q, %q", none.Empty(), s.Empty())
	}
	s.Files = []File{{Rows: 3}, {Rows: 2}}
	s.Files[0].Deleted.Add(0, 3)
	if s.Empty() != "" {
		t.Error(s.Empty())
	}
	s.Files[1].Deleted.Add(0, 2)
	if !strings.Contains(s.Empty(), "has only deleted rows in snapshot current") {
		t.Error(s.Empty())
	}
}
