package footer

import (
	"context"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/parquet"
)

const (
	firstTail   = 64 << 10 // bytes read of a shard's end before anything is known of the others
	leastTail   = 8 << 10
	largestTail = 1 << 20 // what needs more takes a second read
	tailPage    = 4 << 10
	tailsSeen   = 8                      // footers after which less than firstTail is read
	leadTime    = 500 * time.Millisecond // that the others give the first
)

// A tailGuess learns from the footers of a data set how much of a shard's end to read at once, so
// that nearly every footer takes one read, page index included, and no more bytes than it needs.
// The guess changes the requests, never the result.
type tailGuess struct {
	dear bool // a read costs a request: the first footer is read with room to spare, and the others wait to learn from it

	mu   sync.Mutex
	lead chan struct{} // closed when the first was read
	seen int
	most int64 // bytes that a footer needed
}

// begin returns how much to read of the end of a shard of this size. The caller calls end when it
// has the footer, or an error.
func (g *tailGuess) begin(ctx context.Context, size int64) (n int64, end func(), err error) {
	g.mu.Lock()
	lead := g.lead
	if g.dear && lead == nil {
		g.lead = make(chan struct{})
		g.mu.Unlock()
		return min(size, largestTail), sync.OnceFunc(func() { close(g.lead) }), nil
	}
	g.mu.Unlock()
	if lead != nil {
		late := time.NewTimer(leadTime)
		defer late.Stop()
		select {
		case <-lead:
		case <-late.C:
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		}
	}
	return g.bytes(size), func() {}, nil
}

func (g *tailGuess) bytes(size int64) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := max(leastTail, g.most+g.most/4) // the number of row groups differs a little
	if g.seen < tailsSeen {
		n = max(firstTail, n)
	}
	return min(size, largestTail, (n+tailPage-1)/tailPage*tailPage)
}

// learn records how much of a shard's end was needed: a footer of footer bytes, whose page index,
// if any, starts index bytes before the end.
func (g *tailGuess) learn(footer, index int64) {
	need := footer + parquet.TailBytes
	if index <= largestTail { // else it takes a read of its own
		need = max(need, index)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen++
	g.most = max(g.most, min(need, largestTail))
}
