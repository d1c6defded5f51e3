package ahead

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardfeed/shardfeed/rowgroup"
)

// A stream that waits for another's block decodes it itself when the other gives up, and stops
// waiting when its ctx ends.
func TestSharingGoesOnWhenOneGivesUp(t *testing.T) { synctest.Test(t, sharingGoesOn) }

func sharingGoesOn(t *testing.T) {
	var s Sharing
	rows := sharedRows{Rows: rowgroup.Rows{Shard: 1, Hi: 5}}
	if b, _, err := s.join(t.Context(), rows); b != nil || err != nil {
		t.Fatal(b, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, _, err := s.join(ctx, rows); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for what is never ready: %v", err)
	}
	joined := make(chan error)
	go func() {
		_, _, err := s.join(t.Context(), rows)
		joined <- err
	}()
	synctest.Wait() // it is inside join
	s.settle(rows, nil, nil)
	if err := <-joined; err != nil {
		t.Error(err)
	}
	s.settle(rows, nil, nil) // by the one that took over
	if len(s.blocks) != 0 {
		t.Errorf("%d blocks are known", len(s.blocks))
	}
}
