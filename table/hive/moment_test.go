package hive_test

import (
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/hive"
	"github.com/shardfeed/shardfeed/table/internal/thrift"
)

// made is a partition that the metastore made at a time.
func made(at int32, location string, values ...string) thrift.Struct {
	p := partition(location, values...)
	p[4] = at
	return p
}

// A snapshot of a plain table has the files of the partitions that existed then, as long as those
// have not changed.
func TestMoments(t *testing.T) {
	s := newServer(t, described("id bigint", "day int"))
	store := files{"mem://wh/t/1/a": "v1", "mem://wh/t/2/a": "v2"}
	s.partitions["1"] = made(1764378000, "mem://wh/t/1", "1")
	open := func(snapshot string, nameOnly bool) *table.Snapshot {
		t.Helper()
		got, err := s.open(t, table.Options{Store: store, Snapshot: snapshot, NameOnly: nameOnly})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first, before := open("", true).Name, describe(open("", false))
	if !strings.HasPrefix(first, "2025-11-29T01:00:00Z-") || open("", true).Name != first || open("", false).Name != "current" {
		t.Errorf("the snapshot is %s", first)
	}
	s.partitions["2"] = made(1764378001, "mem://wh/t/2", "2")
	second := open("", true).Name
	got := open(first, false)
	if describe(got) != before || got.Name != first || got.Time.Unix() != 1764378000 || second == first {
		t.Errorf("%s then %s: got\n%swant\n%s", first, second, describe(got), before)
	}
	if got := describe(open(second, false)); got != describe(open("", false)) || got == before {
		t.Errorf("the second: %s", got)
	}
	for name, change := range map[string]func(){
		"a file was added":    func() { store["mem://wh/t/1/b"] = "v" },
		"a file was removed":  func() { delete(store, "mem://wh/t/1/a") },
		"a file was replaced": func() { store["mem://wh/t/1/a"] = "v9" },
		"a partition went":    func() { delete(s.partitions, "1") },
		"a value changed":     func() { s.partitions["1"] = made(1764378000, "mem://wh/t/1", "3") },
		"a column came":       func() { s.tables["t"] = described("id bigint, x int", "day int") },
	} {
		tables, partitions := s.tables["t"], s.partitions["1"]
		change()
		_, err := s.open(t, table.Options{Store: store, Snapshot: first})
		if err == nil || !strings.Contains(err.Error(), "snapshot "+first+" cannot be read any more") {
			t.Errorf("%s: %v", name, err)
		}
		if open("", true).Name == second {
			t.Errorf("%s: the snapshot has the same name", name)
		}
		s.tables["t"], s.partitions["1"] = tables, partitions
		delete(store, "mem://wh/t/1/b")
		store["mem://wh/t/1/a"] = "v1"
	}
	if describe(open(first, false)) != before {
		t.Error("the test left a change")
	}
}

// A table without partitions has one moment as long as its files are the same.
func TestMomentWithoutPartitions(t *testing.T) {
	of := described("id bigint", "")
	of[4] = int32(1764378000)
	s, store := newServer(t, of), files{"mem://wh/t/a": "v1"}
	open := func(o table.Options) (*table.Snapshot, error) {
		o.Store = store
		return s.open(t, o)
	}
	named, err := open(table.Options{NameOnly: true})
	if err != nil || !strings.HasPrefix(named.Name, "2025-11-29T01:00:00Z-") {
		t.Fatalf("%+v, %v", named, err)
	}
	if got, err := open(table.Options{Snapshot: named.Name}); err != nil || len(got.Files) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	store["mem://wh/t/b"] = "v2"
	if _, err := open(table.Options{Snapshot: named.Name}); err == nil || !strings.Contains(err.Error(), "cannot be read any more") {
		t.Errorf("with another file: %v", err)
	}
}

// Other names are refused, and there is no history.
func TestSnapshots(t *testing.T) {
	s := newServer(t, described("id bigint", ""))
	for _, name := range []string{"1", "main", "current", "2025-11-29T01:00:00Z", "2025-11-29T01:00:00Z-1234", "2025-11-29T01:00:00+00:00-0123456789abcdef", "-"} {
		if _, err := s.open(t, table.Options{Store: files{}, Snapshot: name}); err == nil || !strings.Contains(err.Error(), "leave the snapshot out") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := hive.History(t.Context(), "hive://"+s.host+"/db.t", hive.Options{}, table.Options{}); err == nil || !strings.Contains(err.Error(), "which has no history") {
		t.Errorf("the history: %v", err)
	}
}
