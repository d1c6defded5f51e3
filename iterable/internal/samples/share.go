package samples

import (
	"path/filepath"
	"slices"
	"time"
)

// A Share divides counting over the nodes of a job. Each node counts its part of the row groups
// first, and then the others' parts from their ends until all counts are known. So a node that is
// late, slow or gone only leaves more to the others.
//
// Counts travel in segments. A node writes its segments into the directory own below Dir, and reads
// the directory theirs, where a carrier puts the segments of other nodes.
type Share struct {
	Dir        string // "" counts everything here
	Number, Of int    // of the nodes, from 0; they decide where counting starts
}

const (
	ownCounts   = "own"
	theirCounts = "theirs"

	shareEvery     = time.Second            // between two segments that other nodes get
	receiveEvery   = 200 * time.Millisecond // between two looks at theirs
	segmentEntries = 1 << 14                // of a segment that other nodes get, at most: 1 MiB and their counts
)

// group returns the row group that is counted in place i of all.
func (s Share) group(i, all int) int {
	if s.Of <= 1 {
		return i
	}
	lo, hi := s.Number*all/s.Of, (s.Number+1)*all/s.Of
	if i < hi-lo {
		return lo + i
	}
	return (lo - 1 - (i - (hi - lo)) + all) % all
}

// A sharing is the directories of a Share, for one counter.
type sharing struct {
	own, theirs *countDir
	seen        map[string]bool // segments of theirs
	looked      time.Time
	came        map[int]bool // row groups that others counted
}

func (s Share) open() (*sharing, error) {
	own, err := openCounts(filepath.Join(s.Dir, ownCounts))
	if err != nil {
		return nil, err
	}
	theirs, err := openCounts(filepath.Join(s.Dir, theirCounts))
	if err != nil {
		_ = own.Close()
		return nil, err
	}
	return &sharing{own: own, theirs: theirs, seen: map[string]bool{}, came: map[int]bool{}}, nil
}

func (s *sharing) close() {
	_ = s.own.Close() // nothing was written through them
	_ = s.theirs.Close()
}

// offer writes counts for the other nodes.
func (s *sharing) offer(entries []countEntry) error {
	for some := range slices.Chunk(entries, segmentEntries) {
		if err := s.own.write(some); err != nil {
			return err
		}
	}
	return nil
}
