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

// An opening shows the progress of opening shards on a terminal: how many were listed, then how
// many footers were read. Its one line is cleared when it is closed. Its methods are safe for
// concurrent use; on anything but a terminal they do nothing.
type opening struct {
	w     io.Writer
	quiet time.Duration

	shards   atomic.Int64
	read, of atomic.Int64

	once    sync.Once
	closing chan struct{}
	done    chan struct{}
}

func newOpening(w io.Writer) *opening {
	o := &opening{w: w, quiet: openingQuiet, closing: make(chan struct{}), done: make(chan struct{})}
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
	o.read.Store(int64(n))
	o.of.Store(int64(of))
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
	read, of := o.read.Load(), o.of.Load()
	if of == 0 {
		return strings.TrimSpace("list  " + plural(o.shards.Load(), "shard"))
	}
	counts := fmt.Sprintf("%s of %s", count(read), count(of))
	width := min(openingBar, columns-1-len("footers   ")-len(counts))
	if width < 1 {
		return counts
	}
	return fmt.Sprintf("footers  %s %s", bar(float64(read), float64(of), width), counts)
}
