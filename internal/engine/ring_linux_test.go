package engine

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/loader"
)

// What is shared stays as large as it is.
func TestRingSealed(t *testing.T) {
	r := ringOf(t, 2, 4096)
	if err := r.newest.file.Truncate(0); !errors.Is(err, os.ErrPermission) {
		t.Errorf("truncated: %v", err)
	}
	if err := r.newest.file.Truncate(1 << 20); !errors.Is(err, os.ErrPermission) {
		t.Errorf("extended: %v", err)
	}
}

// A generation that is outgrown before the trainer reads of it reaches it all the same.
func TestRingOfThePast(t *testing.T) {
	here, there := pair(t)
	side, err := newSender(here, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		side.refuse(io.EOF)
		if err := side.memory.leave(everyReader); err != nil {
			t.Error(err)
		}
	}()
	if _, err := side.ring(ringNeed{slots: 2, bytes: 4096}); err != nil {
		t.Fatal(err)
	}
	side.joined(wire.Joined{Fingerprint: wire.Fingerprint{"long": strings.Repeat("x", 4<<20)}}) // more than the socket takes
	if _, err := side.ring(ringNeed{slots: 2, bytes: 8192}); err != nil {
		t.Fatal(err)
	}
	s := begin(t, side.memory, 0)
	if err := side.announce(s, &loader.Batch{Rows: 1, Valid: 1}); err != nil {
		t.Fatal(err)
	}
	s.Free()
	c := &testClient{conn: there, rings: map[uint32]*clientRing{}, held: map[uint64]*clientBatch{}}
	defer c.close()
	var j wire.Joined
	if err := c.ask(wire.FrameJoined, &j); err != nil {
		t.Fatal(err)
	}
	if b, _, err := c.batch(); err != nil || b.Generation != 1 || len(c.order) != 2 || c.rings[0].slotSize != 4096 {
		t.Errorf("rings %v, error %v", c.order, err)
	}
}
