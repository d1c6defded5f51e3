package engine

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/loader"
)

// BenchmarkHandOver is the way of batches whose columns cost nothing: from Begin to the trainer's
// RELEASE, over the socket.
func BenchmarkHandOver(b *testing.B) {
	for _, c := range []struct{ columns, bytes int }{{3, 256 << 10}, {3, 1536 << 10}, {43, 320 << 10}} {
		b.Run(fmt.Sprintf("%d columns, %d KiB", c.columns, c.bytes>>10), func(b *testing.B) { handOver(b, c.columns, c.bytes) })
	}
}

// A spring is a handler whose batches come from nowhere.
type spring struct {
	b       *testing.B
	columns []*column.Field
	bytes   int // of a column
	group   sync.WaitGroup
}

func (s *spring) join(_ wire.Join, to consumer) error {
	s.group.Go(func() {
		memory, err := to.ring(ringNeed{slots: 8, bytes: int64(len(s.columns)*aligned(s.bytes) + 64<<10)})
		if err != nil {
			s.b.Error(err)
			return
		}
		to.joined(wire.Joined{})
		for range s.b.N {
			if err := s.batch(to, memory); err != nil {
				s.b.Error(err)
				return
			}
		}
		to.end(wire.End{})
	})
	return nil
}

func (s *spring) batch(to consumer, memory loader.Allocator) error {
	m, err := memory.Begin(context.Background(), 0)
	if err != nil {
		return err
	}
	defer m.Free()
	batch := &loader.Batch{Rows: s.bytes / 8, Valid: s.bytes / 8}
	for _, f := range s.columns {
		data, err := m.Alloc(s.bytes)
		if err != nil {
			return err
		}
		batch.Columns = append(batch.Columns, &column.Array{Field: f, Len: s.bytes / 8, Data: data})
	}
	return to.(*sender).announce(m.(*slot), batch)
}

func (s *spring) leave(consumer)                                  {}
func (s *spring) setEpoch(wire.SetEpoch) (wire.Session, error)    { return wire.Session{}, nil }
func (s *spring) ask(wire.Ask) (wire.Session, error)              { return wire.Session{}, nil }
func (s *spring) choose(wire.Select) (wire.Selected, error)       { return wire.Selected{}, nil }
func (s *spring) openMap(wire.Map, consumer) (wire.Mapped, error) { return wire.Mapped{}, nil }
func (s *spring) take([]byte) error                               { return nil }
func (s *spring) close()                                          { s.group.Wait() }
func (s *spring) waited(wire.Waited)                              {}
func (s *spring) divide(wire.Share)                               {}

func handOver(b *testing.B, columns, bytes int) {
	s := &spring{b: b, bytes: bytes / columns &^ 7}
	for i := range columns {
		s.columns = append(s.columns, &column.Field{Name: fmt.Sprint(i), Kind: column.Fixed, Width: 8})
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(runtimeDir(b), "s"), Net: "unix"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c := dial(b, l.Addr().String())
	conn, err := l.AcceptUnix()
	if err != nil {
		b.Fatal(err)
	}
	t, err := newSender(conn, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		newConnection(t, wire.Welcome{}, testLimits(), newMeetings(), deskFunc(func(context.Context, wire.Hello, wire.Open, func(wire.Progress)) (handler, wire.Opened, error) {
			return s, wire.Opened{}, nil
		})).serve(b.Context())
	})
	defer served.Wait()
	defer c.close()
	if _, err := c.open(opening); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime(b)
	if _, err := c.join(wire.Join{Iteration: "a"}); err != nil {
		b.Fatal(err)
	}
	for {
		got, end, err := c.batch()
		if err != nil {
			b.Fatal(err)
		}
		if end != nil {
			break
		}
		if err := c.release(got); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N)/1000, "cpu-us/op")
}
