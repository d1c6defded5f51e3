package loads

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/internal/wait"
)

// most is how many loads a log keeps.
const most = 1 << 14

// A Load is rows that a stream fetched and decoded at once. Its marks divide its time without gaps.
type Load struct {
	Unit     int    `json:"unit"` // the number of its row group among all of the data set
	Shard    string `json:"shard"`
	RowGroup int    `json:"row_group"`
	Rows     int64  `json:"rows"`
	Fetched  int64  `json:"fetched"` // encoded bytes
	Decoded  int64  `json:"decoded"` // bytes of its blocks
	Failed   bool   `json:"failed"`

	Begin int64  `json:"begin"` // when it became the next to be admitted, as by wait.Now
	Marks []Mark `json:"marks"`
}

// A Mark ends a piece of a load's time.
type Mark struct {
	End   int64  `json:"end"`
	Cause string `json:"cause"`
}

// MarksOf returns the pieces of a trail, which may change afterwards.
func MarksOf(t *wait.Trail) (all []Mark) {
	for _, m := range t.Marks() {
		all = append(all, Mark{m.End, m.Cause.String()})
	}
	return all
}

// A Rank is one rank of a data set object.
type Rank struct {
	Dataset string
	Rank    int
}

// A Log keeps the last loads while it has followers. The zero Log is ready to use.
type Log struct {
	followers atomic.Int32

	mu   sync.Mutex
	ring []entry
	next uint64 // number of the next load
}

type entry struct {
	of   Rank
	load Load
}

func (l *Log) add(of Rank, one Load) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.followers.Load() == 0:
	case len(l.ring) < most:
		l.ring = append(l.ring, entry{of, one})
		l.next++
	default:
		l.ring[l.next%most] = entry{of, one}
		l.next++
	}
}

// A Recorder adds the loads of a rank to a log. A nil Recorder records nothing.
type Recorder struct {
	log *Log
	of  Rank
}

// Recorder returns a recorder of a rank.
func (l *Log) Recorder(of Rank) *Recorder { return &Recorder{l, of} }

// On reports whether loads are recorded.
func (r *Recorder) On() bool { return r != nil && r.log.followers.Load() > 0 }

// Add records a load.
func (r *Recorder) Add(l Load) {
	if r.On() {
		r.log.add(r.of, l)
	}
}

type recorderKey struct{}

// With returns a context that carries a recorder to the readers of a stream.
func With(ctx context.Context, r *Recorder) context.Context {
	return context.WithValue(ctx, recorderKey{}, r)
}

// RecorderOf returns the recorder of a context, or nil.
func RecorderOf(ctx context.Context) *Recorder {
	r, _ := ctx.Value(recorderKey{}).(*Recorder)
	return r
}

// A Follower reads the loads of a rank as they are recorded. Close ends it.
type Follower struct {
	Rank Rank

	log  *Log
	at   uint64 // number of the next load to read
	once sync.Once
}

// Follow starts to record loads, and returns a follower of a rank's loads from now on.
func (l *Log) Follow(of Rank) *Follower {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followers.Add(1)
	return &Follower{Rank: of, log: l, at: l.next}
}

// Read returns the loads since the last call, and how many loads of any rank it missed.
func (f *Follower) Read() (all []Load, missed uint64) {
	l := f.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if oldest := l.next - uint64(len(l.ring)); f.at < oldest {
		missed, f.at = oldest-f.at, oldest
	}
	for ; f.at < l.next; f.at++ {
		if e := l.ring[f.at%most]; e.of == f.Rank {
			all = append(all, e.load)
		}
	}
	return all, missed
}

// Close ends the follower. The last one frees the log's memory.
func (f *Follower) Close() {
	f.once.Do(func() {
		f.log.mu.Lock()
		defer f.log.mu.Unlock()
		if f.log.followers.Add(-1) == 0 {
			f.log.ring, f.log.next = nil, 0
		}
	})
}
