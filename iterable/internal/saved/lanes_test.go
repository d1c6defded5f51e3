package saved

import (
	"bytes"
	"testing"

	"github.com/shardfeed/shardfeed/shuffle"
)

// A note is of the ranks with one division of the lanes, and of its state alone.
func TestLaneNotes(t *testing.T) {
	state := shuffle.State{Manifest: "m", Units: "u", Seed: 3, Params: &shuffle.Params{Lanes: 10}}
	dir := t.TempDir()
	note := func(n *LaneNotes, world, rank int, lines ...int) {
		n.Note(state, lines, nil, shuffle.Worker{Rank: rank, WorldSize: world}, 2)
	}
	n := NewLaneNotes(dir)
	note(n, 2, 0, 0, 9)
	if b := n.Held(state); b != nil {
		t.Errorf("the lanes of one of two ranks are held: %v", b)
	}
	note(n, 2, 1, 1)
	note(n, 4, 0, 5) // the first of another division
	if b := NewLaneNotes(dir).Held(state); !bytes.Equal(b, []byte{1<<0 | 1<<1, 1 << 1}) {
		t.Errorf("held: %08b", b)
	}
	other := state
	if other.Seed = 4; n.Held(other) != nil {
		t.Error("lanes of another seed are held")
	}
	if other = state; NewLaneNotes("").Held(other) != nil {
		t.Error("lanes are held without a directory")
	}
	note(NewLaneNotes(""), 2, 0, 0)
}
