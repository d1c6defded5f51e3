package loader

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/internal/iteration"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable"
)

// waiting describes why the consumer has no batch yet.
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

// describe describes the current work on a job.
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

// begin gets a batch's memory. It returns an error if the wait can never end, because the consumer
// has lost the batches that fill the memory.
func (p *pass) begin(ctx context.Context) (Memory, error) {
	held, dropped := &p.owner.held, &p.owner.dropped
	ctx, stop := iteration.Watch(ctx, func() bool {
		return held.Load() > 0 && p.depth.Load() == 0
	}, func() bool { return dropped.Load() == held.Load() })
	m, err := p.allocator.Begin(ctx, int(p.largest.Load()))
	if lost := stop(); lost && err != nil {
		return nil, &DroppedError{Batches: dropped.Load()}
	}
	if err == nil && m == nil {
		return nil, errors.New("loader: Allocator.Begin must return a Memory or an error, got neither")
	}
	return m, err
}

// heldUp returns the job that the consumer waits for, or waits for next.
func (p *pass) heldUp() *job {
	if j := p.due.Load(); j != nil {
		return j
	}
	first := p.drawn.Load()
	for i := range p.busy {
		if j := p.busy[i].Load(); j != nil && j.seq < first.seq {
			first = j
		}
	}
	return first
}

// HeldUp returns what holds up the next batch of an iteration until now, for a consumer that waits
// for it. It is nil without an iteration.
func (l *Loader) HeldUp() []iterable.Mark {
	p := l.loop.Pass()
	if p == nil {
		return nil
	}
	if j := p.heldUp(); j != nil {
		return j.trail.At(wait.Now())
	}
	return []iterable.Mark{{End: wait.Now(), Cause: wait.Open}}
}
