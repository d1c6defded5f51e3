package loader

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable"
)

// A Queue is a measuring point between two parts of the loader. Long waits in get mean that the
// side that puts is the slow one; long waits in put, the side that gets.
type Queue struct {
	Depth int   // items in it now
	Cap   int   // its capacity, or 0 if unknown
	Items int64 // that passed through

	// Put and Get are the times that goroutines were blocked, summed.
	Put, Get time.Duration
}

// Sub returns the counts since r was taken, with the current depth and cap.
func (q Queue) Sub(r Queue) Queue {
	q.Items, q.Put, q.Get = q.Items-r.Items, q.Put-r.Put, q.Get-r.Get
	return q
}

// String is a row of a table: all fields in order.
func (q Queue) String() string {
	most := "-"
	if q.Cap > 0 {
		most = fmt.Sprint(q.Cap)
	}
	return fmt.Sprintf("%7d %7s %9d %16s %16s", q.Depth, most, q.Items, seconds(q.Put), seconds(q.Get))
}

// Stats counts the work of a loader and its waits. Counters start at New; depths are current.
type Stats struct {
	Batches int64 // handed out
	Rows    int64 // in them
	Lost    int64 // rows of their steps whose data is lost
	Held    int   // handed out and not yet released

	// Wait is how long the consumer waited for batches, by what held them up.
	Wait iterable.Waits

	Draws  Queue // from the stream to the loader: waits in get are for storage, decode and the shuffle buffer
	Memory Queue // from the allocator to the loader: waits in get are for batches that the consumer has not released
	Work   Queue // from the loader to its workers: waits in put are for collate and transforms
	Ready  Queue // from the workers to the consumer: waits in get are the consumer's, in put the loader's

	// The workers' time, summed; for Images, the time of the goroutines that decode them.
	Images, Gather, Pad, Transform time.Duration

	// OnDevice is how many JPEGs were left to a device of the consumer, and Decoded how many images
	// were decoded here.
	OnDevice, Decoded int64

	Stream iterable.Stats
}

// Sub returns the counts since t was taken.
func (s Stats) Sub(t Stats) Stats {
	s.Batches -= t.Batches
	s.Rows -= t.Rows
	s.Lost -= t.Lost
	for i := range s.Wait {
		s.Wait[i] -= t.Wait[i]
	}
	s.Draws, s.Memory = s.Draws.Sub(t.Draws), s.Memory.Sub(t.Memory)
	s.Work, s.Ready = s.Work.Sub(t.Work), s.Ready.Sub(t.Ready)
	s.Images -= t.Images
	s.OnDevice -= t.OnDevice
	s.Decoded -= t.Decoded
	s.Gather -= t.Gather
	s.Pad -= t.Pad
	s.Transform -= t.Transform
	s.Stream = s.Stream.Sub(t.Stream)
	return s
}

// String is two tables, of the loader's queues and of its workers' time, and the stream's.
func (s Stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d batches, %d rows, %d batches with the consumer\n", s.Batches, s.Rows, s.Held)
	fmt.Fprintf(&b, "%-8s %7s %7s %9s %16s %16s\n", "queue", "depth", "cap", "items", "blocked in put", "blocked in get")
	fmt.Fprintf(&b, "draws    %v\nmemory   %v\nwork     %v\nready    %v\n", s.Draws, s.Memory, s.Work, s.Ready)
	fmt.Fprintf(&b, "%-8s %12s %12s %12s\n", "stage", "gather", "pad", "transform")
	fmt.Fprintf(&b, "%-8s %12s %12s %12s\n", "time", seconds(s.Gather), seconds(s.Pad), seconds(s.Transform))
	if s.Images > 0 {
		fmt.Fprintf(&b, "images took %s\n", seconds(s.Images))
	}
	if s.OnDevice > 0 {
		fmt.Fprintf(&b, "%d images were left to a device\n", s.OnDevice)
	}
	b.WriteString(s.Stream.String())
	return b.String()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

// A meter counts for a Queue.
type meter struct {
	items, put, get atomic.Int64
}

// blocked adds the time since an earlier wait.Now, and returns the present one.
func blocked(n *atomic.Int64, begin int64) int64 {
	now := wait.Now()
	n.Add(now - begin)
	return now
}

func (m *meter) queue(depth, most int) Queue {
	return Queue{Depth: depth, Cap: most, Items: m.items.Load(), Put: time.Duration(m.put.Load()), Get: time.Duration(m.get.Load())}
}

// A waited adds up the wait of a consumer.
type waited struct {
	mu  sync.Mutex
	sum iterable.Waits
}

func (w *waited) add(trail *iterable.Trail, from, to int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	trail.Charge(&w.sum, from, to)
}

func (w *waited) parts() iterable.Waits {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sum
}

// meters are the counters of a loader.
type meters struct {
	batches, rows, lost        atomic.Int64
	draws, memory, work, ready meter
	wait                       waited
	depth                      atomic.Int64                   // finished batches that wait for the consumer
	last                       atomic.Pointer[iterable.Stats] // of the stream of the last iteration
}
