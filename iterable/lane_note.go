package iterable

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/shuffle"

	"github.com/shardfeed/shardfeed/iterable/internal/saved"
)

// laneNotes keep which line lanes the ranks of this node read, in a file for each content and seed.
// A note is a hint for SeatLanes: if it cannot be written, or read, the next start reads lanes
// from servers that this node holds. It is safe for concurrent use.
type laneNotes struct {
	dir string

	mu    sync.Mutex
	now   laneDivision
	ranks map[int][]int // line lanes that each rank reads
}

// newLaneNotes returns nil without a directory.
func newLaneNotes(dir string) *laneNotes {
	if dir == "" {
		return nil
	}
	return &laneNotes{dir: dir}
}

// A laneDivision must not change while lanes of several ranks are noted for one node.
type laneDivision struct {
	content, units string
	seed           uint64
	lanes, world   int
	seats          string
}

// A laneNote is the JSON of a file.
type laneNote struct {
	Format int    `json:"v"`     // 1
	Units  string `json:"units"` // Plan.UnitsHash
	Lanes  int    `json:"lanes"` // of the order
	Held   []byte `json:"held"`  // as in shuffle.NodeLanes
	Sum    string `json:"sum"`
}

const mostNoteBytes = 1 << 20 // far over what a note of all lanes has

func (n laneNote) sum() string {
	h := sha256.Sum256(fmt.Append(nil, n.Format, n.Units, n.Lanes, n.Held))
	return hex.EncodeToString(h[:8])
}

func laneNotePath(dir, content string, seed uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%d", content, seed))
}

// add notes the lanes that a rank reads. The file is written once local ranks are known, of which
// local is their number; 0 is unknown.
func (n *laneNotes) add(of laneDivision, rank int, lines []int, local int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ranks == nil || of != n.now {
		n.now, n.ranks = of, map[int][]int{}
	}
	if slices.Equal(n.ranks[rank], lines) {
		return
	}
	if n.ranks[rank] = lines; len(n.ranks) < local {
		return
	}
	note := laneNote{Format: 1, Units: of.units, Lanes: of.lanes, Held: make([]byte, (of.lanes+7)/8)}
	for _, lines := range n.ranks {
		for _, line := range lines {
			note.Held[line/8] |= 1 << (line % 8)
		}
	}
	note.Sum = note.sum()
	b, err := json.Marshal(note)
	if err == nil && os.MkdirAll(n.dir, 0o700) == nil {
		_ = saved.WriteWhole(laneNotePath(n.dir, of.content, of.seed), b) // a hint, see above
	}
}

// note keeps the line lanes that a worker reads of the order of a state.
func (n *laneNotes) note(s shuffle.State, lines []int, w shuffle.Worker, o StreamOptions) {
	n.add(laneDivision{
		content: s.Manifest, units: s.Units, seed: s.Seed, lanes: s.Params.Lanes, world: w.WorldSize, seats: fmt.Sprint(o.Seats),
	}, w.Rank, lines, o.LocalWorldSize)
}

// HeldLanes are the line lanes of a state's order that the last run on this node has read, where
// Options.LaneDir kept a note of them, as shuffle.NodeLanes has them. It is nil if nothing is
// known.
func (d *Dataset) HeldLanes(state shuffle.State) []byte {
	if d.notes == nil || state.Params == nil {
		return nil
	}
	name := laneNotePath(d.notes.dir, state.Manifest, state.Seed)
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > mostNoteBytes {
		return nil
	}
	b, err := regular.ReadFile(name)
	var n laneNote
	if err != nil || json.Unmarshal(b, &n) != nil || n.Format != 1 || n.Sum != n.sum() {
		return nil
	}
	if n.Units != state.Units || n.Lanes != state.Params.Lanes || len(n.Held) != (n.Lanes+7)/8 {
		return nil
	}
	return n.Held
}
