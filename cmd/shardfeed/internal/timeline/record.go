package timeline

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/internal/loads"
)

// Kinds of items. A trainer sends the first four, and parts of a next(), whose kind is their cause.
// The others are made of a batch.
const (
	kindEnd   = -2 // the trace is over; its first number is 1 if it has no room for all events
	kindAbout = -1 // its first number is the bytes of an About, in JSON, which follow
	kindNext  = 16
	kindBatch = 17
	kindReady = 18
	kindPart  = 32 // and above: a part of a batch, by its cause
)

// An item is an event of a trainer: 8 integers of 8 bytes, little-endian.
//
// A next() has the cause of its last part as its epoch, and that part's start as its step. It
// becomes two items.
//
// A batch comes with its number of marks as its start, and ends when it was finished. The time when
// it was handed out follows in 8 bytes, and then its marks as in a slot, see package engine. It
// becomes several items: kindBatch, its parts, and kindReady.
type item struct {
	Kind, Of    int64 // of: a thread, or the number of a batch
	Begin, End  int64 // ns of CLOCK_MONOTONIC
	Epoch, Step int64 // of a batch
	Rows, Bytes int64
}

// mostMarks bounds the marks of a batch.
const mostMarks = 1 << 16

// An About describes a trace. A trainer sends it before the first event, and again when it changes.
type About struct {
	File      string `json:"file"` // gets the trace
	PID       int    `json:"pid"`
	Version   string `json:"version"`
	Rank      int    `json:"rank"`
	WorldSize int    `json:"world_size"`

	// Socket is the engine's, whose loads for a rank of a data set belong to the trace; or empty.
	Socket   string `json:"socket"`
	Dataset  string `json:"dataset"`
	DataRank int    `json:"data_rank"`
}

// mostLoads bounds the loads of a trace.
const mostLoads = 1 << 16

// askEvery is how often an engine is asked for loads.
const askEvery = time.Second

// A recording is a trace in the making.
type recording struct {
	about About
	items []item
	full  bool
	ended bool // by the trainer
	rest  []byte

	asking sync.WaitGroup
	stop   context.CancelFunc
	known  map[source]bool

	mu     sync.Mutex
	loads  []loads.Load
	missed bool // some loads
}

type source struct {
	socket string
	rank   loads.Rank
}

// Record reads the events of a trainer until they end, follows the loads of its engine, and writes
// the file. It answers each About with one byte once loads are recorded. A trainer that dies leaves
// a file that is not complete.
func Record(ctx context.Context, from io.Reader, answers io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	r := &recording{stop: cancel, known: map[source]bool{}}
	defer r.asking.Wait()
	defer cancel()
	err := r.read(ctx, bufio.NewReaderSize(from, 1<<16), answers)
	cancel()
	r.asking.Wait()
	if r.about.File == "" {
		return err
	}
	return errors.Join(err, r.write())
}

// read reads all events.
func (r *recording) read(ctx context.Context, from io.Reader, answers io.Writer) error {
	var frame [64]byte
	for {
		if _, err := io.ReadFull(from, frame[:]); err != nil {
			return nil // the trainer has died
		}
		switch it := itemOf(&frame); it.Kind {
		case kindEnd:
			r.full, r.ended = it.Of != 0, true
			return nil
		case kindAbout:
			if err := r.learn(ctx, from, it.Of); err != nil {
				return err
			}
			if _, err := answers.Write([]byte{'.'}); err != nil {
				return err
			}
		case kindBatch:
			if err := r.batch(from, it); err != nil {
				return err
			}
		case kindNext:
			if last := (item{Kind: it.Epoch, Of: it.Of, Begin: it.Step, End: it.End}); last.End > last.Begin {
				r.items = append(r.items, last)
			}
			r.items = append(r.items, item{Kind: kindNext, Of: it.Of, Begin: it.Begin, End: it.End})
		default:
			r.items = append(r.items, it)
		}
	}
}

func itemOf(frame *[64]byte) item {
	at := func(i int) int64 { return int64(binary.LittleEndian.Uint64(frame[8*i:])) }
	return item{at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)}
}

// batch reads the rest of a batch.
func (r *recording) batch(from io.Reader, b item) error {
	if b.Begin < 0 || b.Begin > mostMarks {
		return fmt.Errorf("a batch with %d marks", b.Begin)
	}
	r.rest = slices.Grow(r.rest[:0], 8+8*int(b.Begin))
	rest := r.rest[:8+8*b.Begin]
	if _, err := io.ReadFull(from, rest); err != nil {
		return nil // the trainer has died
	}
	handed := int64(binary.LittleEndian.Uint64(rest))
	at, n := b.End, len(r.items)
	r.items = append(r.items, b)
	for i, marks := 0, rest[8:]; len(marks) > 0; i, marks = i+1, marks[8:] {
		mark := binary.LittleEndian.Uint64(marks)
		end := b.End - int64(mark>>8)
		if i > 0 {
			r.items = append(r.items, item{Kind: kindPart + int64(mark&255), Of: b.Of, Begin: at, End: end})
		}
		if at = end; i == 0 {
			r.items[n].Begin = end
		}
	}
	if b.Begin == 0 {
		r.items[n].Begin = b.End
	}
	r.items = append(r.items, item{Kind: kindReady, Of: b.Of, Begin: b.End, End: max(b.End, handed)})
	return nil
}

// learn reads an About and follows its engine.
func (r *recording) learn(ctx context.Context, from io.Reader, size int64) error {
	if size < 0 || size > 1<<20 {
		return fmt.Errorf("an About of %d bytes", size)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(from, text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &r.about); err != nil {
		return err
	}
	s := source{r.about.Socket, loads.Rank{Dataset: r.about.Dataset, Rank: r.about.DataRank}}
	if s.socket == "" || r.known[s] {
		return nil
	}
	f, err := engine.Follow(ctx, s.socket, s.rank)
	if err != nil {
		r.missed = true // by an engine that has ended, or of another version: a trace without its loads
		return nil
	}
	r.known[s] = true
	r.asking.Go(func() { r.follow(ctx, f) })
	return nil
}

// follow collects loads until the trace ends, or the engine.
func (r *recording) follow(ctx context.Context, f *engine.Follower) {
	defer f.Close()
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for more := true; more; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			more = false
		}
		got, err := f.Next()
		r.mu.Lock()
		r.missed = r.missed || got.Missed > 0
		for _, l := range got.Loads {
			if len(r.loads) == mostLoads {
				r.missed, more = true, false
				break
			}
			r.loads = append(r.loads, l)
		}
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}
