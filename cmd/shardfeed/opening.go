package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	openingQuiet = time.Second            // an opening that takes less shows nothing
	openingEvery = 100 * time.Millisecond // between two looks at how far it is
	openingBar   = 30                     // columns
)

// An opening shows the progress of opening shards on a terminal: how many were listed, how many
// footers were read, then in how many row groups the chosen rows were counted. Its one line is
// cleared when it is closed. Its methods are safe for concurrent use; on anything but a terminal
// they do nothing.
type opening struct {
	w     io.Writer
	quiet time.Duration

	shards   atomic.Int64
	read, of atomic.Int64 // footers
	known    atomic.Int64 // row groups whose rows are counted
	groups   atomic.Int64
	begun    atomic.Int64 // nanoseconds since 1970: when the last footer was read

	once    sync.Once
	closing chan struct{}
	done    chan struct{}
}

func newOpening(w io.Writer) *opening {
	o := &opening{w: w, quiet: openingQuiet, closing: make(chan struct{}), done: make(chan struct{})}
	o.begun.Store(time.Now().UnixNano())
	if !isTerminal(w) {
		close(o.done)
		return o
	}
	go o.show()
	return o
}

func (o *opening) listed(n int) {
	o.shards.Store(int64(n))
}

func (o *opening) footers(n, of int) {
	o.begun.Store(time.Now().UnixNano())
	o.read.Store(int64(n))
	o.of.Store(int64(of))
}

func (o *opening) counted(n, of int64) {
	o.known.Store(n)
	o.groups.Store(of)
}

// counting is the time since the last footer, when rows were counted.
func (o *opening) counting() time.Duration {
	if o.groups.Load() == 0 {
		return 0
	}
	return time.Since(time.Unix(0, o.begun.Load()))
}

// close clears the line. It may be called twice.
func (o *opening) close() {
	o.once.Do(func() { close(o.closing) })
	<-o.done
}

func (o *opening) show() {
	defer close(o.done)
	shown := false
	for wait := o.quiet; ; wait = openingEvery {
		select {
		case <-o.closing:
			if shown {
				fmt.Fprint(o.w, "\r\x1b[K") // back to the first column, and clear
			}
			return
		case <-time.After(wait):
			fmt.Fprintf(o.w, "\r%s\x1b[K", o.line(columns(o.w)))
			shown = true
		}
	}
}

// line is the progress in less than so many columns.
func (o *opening) line(columns int) string {
	what, n, of := "footers", o.read.Load(), o.of.Load()
	if groups := o.groups.Load(); groups > 0 {
		what, n, of = "count rows", o.known.Load(), groups
	}
	if of == 0 {
		return strings.TrimSpace("list  " + plural(o.shards.Load(), "shard"))
	}
	counts := fmt.Sprintf("%s of %s", count(n), count(of))
	width := min(openingBar, columns-1-len(what+"   ")-len(counts))
	if width < 1 {
		return counts
	}
	return fmt.Sprintf("%s  %s %s", what, bar(float64(n), float64(of), width), counts)
}
