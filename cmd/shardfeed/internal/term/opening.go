package term

import (
	"io"
	"sync"
	"time"
)

const (
	openingQuiet = time.Second            // an opening that takes less shows nothing
	openingEvery = 100 * time.Millisecond // between two looks at how far it is
)

// An Opening shows the progress of opening shards on a terminal: how many were listed, how many
// footers were read, then in how many row groups the chosen rows were counted. Its one line is
// cleared when it is closed. Its methods are safe for concurrent use; on anything but a terminal
// they show nothing.
type Opening struct {
	w     io.Writer
	timer *time.Timer // draws; nil if w is not a terminal

	mu    sync.Mutex
	bar   *Progress // nil before the first draw
	drawn stage     // the last that bar showed
	stage stage
	ended bool
	begun time.Time // when the last footer was read
	rows  bool      // some were counted
}

// A stage is how far a part of an opening is.
type stage struct {
	what  string
	n, of int64
}

func NewOpening(w io.Writer) *Opening {
	o := &Opening{w: w, stage: stage{"list", 0, -1}, begun: time.Now()}
	if IsTerminal(w) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.timer = time.AfterFunc(openingQuiet, o.draw)
	}
	return o
}

func (o *Opening) Listed(n int) { o.enter(stage{"list", int64(n), -1}) }

func (o *Opening) Footers(n, of int) { o.enter(stage{"footers", int64(n), int64(of)}) }

func (o *Opening) Counted(n, of int64) { o.enter(stage{"count rows", n, of}) }

func (o *Opening) enter(s stage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch s.what {
	case "footers":
		o.begun = time.Now()
	case "count rows":
		o.rows = true
	}
	o.stage = s
}

// draw shows the stage, now and every while.
func (o *Opening) draw() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	if o.bar == nil || o.drawn.what != o.stage.what || o.drawn.of != o.stage.of {
		o.clear()
		o.bar = newCounts(o.w, o.stage.what, o.stage.of)
	}
	o.bar.set(o.stage.n)
	o.drawn = o.stage
	o.timer.Reset(openingEvery)
}

func (o *Opening) clear() {
	if o.bar != nil {
		o.bar.Close()
		o.bar = nil
	}
}

// Counting is the time since the last footer, when rows were counted.
func (o *Opening) Counting() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.rows {
		return 0
	}
	return time.Since(o.begun)
}

// Close clears the line. It may be called twice.
func (o *Opening) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
	}
	o.ended = true
	o.clear()
}
