package loader

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
)

// errTimeout is the cause of a context that Options.Timeout ended.
var errTimeout = errors.New("loader: timeout")

// waiting says in words why the consumer has no batch yet.
func (p *pass) waiting() string {
	if p.head != nil {
		return p.describe(p.head)
	}
	var at []string
	for i := range p.busy {
		if j := p.busy[i].Load(); j != nil {
			at = append(at, p.describe(j))
		}
	}
	if len(at) > 0 {
		return strings.Join(at, "; ")
	}
	switch s, _ := p.doing.get(); s {
	case stageMemory:
		held := p.owner.held.Load()
		if held == 0 {
			return "the allocator to give memory for a batch"
		}
		return fmt.Sprintf("memory for a batch: %d batches were handed out and not released; call Release when done with a batch", held)
	case stageRead:
		return fmt.Sprintf("rows from the stream (%v)", p.stream.Stats())
	}
	return "a worker"
}

// describe says what is being done for a job.
func (p *pass) describe(j *job) string {
	s, i := j.at.get()
	what := p.op(s, i)
	switch s {
	case stageQueue:
		what = "a free worker"
	case stageGather:
		what = fmt.Sprintf("gather of column %q", p.schema.Fields[i].Name)
	case stagePad:
		what = fmt.Sprintf("padding of column %q", p.padders[i].Column)
	}
	return fmt.Sprintf("%s (batch %d of this iteration)", what, j.seq)
}

// The loader looks for batches that were dropped without Release when it has waited firstLook for
// memory, then after twice as long each time, up to lastLook.
const (
	firstLook = time.Second
	lastLook  = 10 * time.Second
)

// begin gets a batch's memory. A wait that can never end, because the consumer has lost the batches
// that fill the memory, is an error.
func (p *pass) begin(ctx context.Context) (Memory, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	looked := make(chan struct{})
	look := time.AfterFunc(firstLook, func() {
		defer close(looked)
		for pause := 2 * firstLook; !p.stuck(); pause = min(2*pause, lastLook) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
		cancel(&DroppedError{Batches: p.owner.dropped.Load()})
	})
	m, err := p.allocator.Begin(ctx, int(p.largest.Load()))
	if !look.Stop() {
		cancel(nil)
		<-looked
	}
	var dropped *DroppedError
	if err != nil && errors.As(context.Cause(ctx), &dropped) {
		return nil, dropped
	}
	if err == nil && m == nil {
		return nil, errors.New("loader: Allocator.Begin must return a Memory or an error, got neither")
	}
	return m, err
}

// stuck reports whether no consumer is left that could release a batch: all handed-out batches are
// garbage, and none is ready.
func (p *pass) stuck() bool {
	for range 3 {
		if p.owner.held.Load() == 0 || p.depth.Load() > 0 {
			return false
		}
		runtime.GC()
		time.Sleep(time.Millisecond) // cleanups run after the collection, in a goroutine of their own
		if p.owner.dropped.Load() == p.owner.held.Load() {
			return true
		}
	}
	return false
}
