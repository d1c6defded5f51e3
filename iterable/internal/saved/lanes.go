package saved

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
)

// LaneNotes keep which line lanes the ranks of this node read, in a file for each content and seed.
// A note is a hint for [shuffle.SeatLanes]: if it cannot be written, or read, the next start reads
// lanes from servers that this node holds. They are safe for concurrent use. A nil *LaneNotes keeps
// and knows nothing.
type LaneNotes struct {
	dir string

	mu    sync.Mutex
	now   laneDivision
	ranks map[int][]int // line lanes that each rank reads
}

// NewLaneNotes returns the notes in a directory, or nil if dir is empty.
func NewLaneNotes(dir string) *LaneNotes {
	if dir == "" {
		return nil
	}
	return &LaneNotes{dir: dir}
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

func (n *LaneNotes) path(content string, seed uint64) string {
	return filepath.Join(n.dir, fmt.Sprintf("%s-%d", content, seed))
}

// Note keeps the line lanes that a worker reads of the order of a state. The file is written once
// all ranks of this node are known, of which local is the number; 0 is unknown.
func (n *LaneNotes) Note(s shuffle.State, lines []int, seats shuffle.Seats, w shuffle.Worker, local int) {
	if n == nil {
		return
	}
	n.add(laneDivision{
		content: s.Manifest, units: s.Units, seed: s.Seed, lanes: s.Params.Lanes, world: w.WorldSize, seats: fmt.Sprint(seats),
	}, w.Rank, lines, local)
}

func (n *LaneNotes) add(of laneDivision, rank int, lines []int, local int) {
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
		_ = WriteWhole(n.path(of.content, of.seed), b) // a hint, see above
	}
}

// Held returns the line lanes of a state's order that were noted last, as shuffle.NodeLanes has
// them, or nil if nothing is known.
func (n *LaneNotes) Held(state shuffle.State) []byte {
	if n == nil || state.Params == nil {
		return nil
	}
	name := n.path(state.Manifest, state.Seed)
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > mostNoteBytes {
		return nil
	}
	b, err := regular.ReadFile(name)
	var note laneNote
	if err != nil || json.Unmarshal(b, &note) != nil || note.Format != 1 || note.Sum != note.sum() {
		return nil
	}
	if note.Units != state.Units || note.Lanes != state.Params.Lanes || len(note.Held) != (note.Lanes+7)/8 {
		return nil
	}
	return note.Held
}
