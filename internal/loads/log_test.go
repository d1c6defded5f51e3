package loads

import (
	"context"
	"testing"

	"github.com/shardfeed/shardfeed/internal/wait"
)

func TestFollowersGetTheLoadsOfTheirRank(t *testing.T) {
	var log Log
	one, other := log.Recorder(Rank{"d", 1}), log.Recorder(Rank{"d", 0})
	one.Add(Load{Unit: 7})
	if one.On() {
		t.Error("it records without a follower")
	}
	f := log.Follow(Rank{"d", 1})
	one.Add(Load{Unit: 1})
	other.Add(Load{Unit: 2})
	one.Add(Load{Unit: 3})
	late := log.Follow(Rank{"d", 0})
	if all, missed := f.Read(); missed != 0 || len(all) != 2 || all[0].Unit != 1 || all[1].Unit != 3 {
		t.Errorf("read %+v, missed %d", all, missed)
	}
	other.Add(Load{Unit: 4})
	if all, _ := f.Read(); len(all) != 0 {
		t.Errorf("read %+v again, or of another rank", all)
	}
	if all, _ := late.Read(); len(all) != 1 || all[0].Unit != 4 {
		t.Errorf("a late follower read %+v", all)
	}
	f.Close()
	f.Close()
	if !one.On() {
		t.Error("the end of one follower ended another")
	}
	late.Close()
	if one.On() || log.ring != nil {
		t.Error("memory without followers")
	}
	(*Recorder)(nil).Add(Load{})
}

func TestSlowFollowersMissTheOldest(t *testing.T) {
	var log Log
	r, f := log.Recorder(Rank{}), log.Follow(Rank{})
	defer f.Close()
	for n := range most + 10 {
		r.Add(Load{Unit: n})
	}
	all, missed := f.Read()
	if missed != 10 || len(all) != most || all[0].Unit != 10 || all[most-1].Unit != most+9 {
		t.Errorf("missed %d, read %d", missed, len(all))
	}
	r.Add(Load{Unit: -1})
	if all, missed := f.Read(); missed != 0 || len(all) != 1 || all[0].Unit != -1 {
		t.Errorf("then missed %d, read %+v", missed, all)
	}
}

func TestMarksAndContext(t *testing.T) {
	var trail wait.Trail
	trail.Until(5, wait.Room)
	trail.Until(9, wait.Storage)
	if m := MarksOf(&trail); len(m) != 2 || m[1] != (Mark{9, "storage"}) {
		t.Errorf("marks %v", m)
	}
	var log Log
	r := log.Recorder(Rank{})
	if RecorderOf(With(context.Background(), r)) != r || RecorderOf(context.Background()) != nil {
		t.Error("the recorder of a context")
	}
}
