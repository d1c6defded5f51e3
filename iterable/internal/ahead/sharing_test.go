package ahead

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable/internal/samples"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
)

// Blocks of another epoch are others if they depend on its random numbers.
func TestSharedRowsOfAnEpoch(t *testing.T) {
	of := func(spec *rule.Pack, epoch uint64) sharedRows {
		l := &Load{Rules: &samples.Rules{Pack: &samples.Packing{Spec: spec}}, Wanted: []Wanted{{Key: Key{Epoch: epoch}}}}
		return l.sharedRows()
	}
	drawn := &rule.Pack{FIM: &rule.FillInTheMiddle{}}
	if of(drawn, 0) == of(drawn, 1) || of(&rule.Pack{}, 0) != of(&rule.Pack{}, 1) {
		t.Error("epochs share drawn blocks, or do not share others")
	}
}

// A stream that waits for another's block decodes it itself when the other gives up, and stops
// waiting when its ctx ends.
func TestSharingGoesOnWhenOneGivesUp(t *testing.T) { synctest.Test(t, sharingGoesOn) }

func sharingGoesOn(t *testing.T) {
	var s Sharing
	rows := sharedRows{Rows: rowgroup.Rows{Shard: 1, Hi: 5}}
	if b, _, err := s.join(t.Context(), rows, &wait.Trail{}); b != nil || err != nil {
		t.Fatal(b, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, _, err := s.join(ctx, rows, &wait.Trail{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for what is never ready: %v", err)
	}
	joined := make(chan error)
	go func() {
		_, _, err := s.join(t.Context(), rows, &wait.Trail{})
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

// A stream that waits for another's block is held up by what holds up the other.
func TestSharingKeepsCauses(t *testing.T) { synctest.Test(t, sharingKeepsCauses) }

func sharingKeepsCauses(t *testing.T) {
	var s Sharing
	var owner, waiter wait.Trail
	rows := sharedRows{Rows: rowgroup.Rows{Shard: 1, Hi: 5}}
	if _, _, err := s.join(t.Context(), rows, &owner); err != nil {
		t.Fatal(err)
	}
	began, joined := wait.Now(), make(chan error)
	go func() {
		_, _, err := s.join(t.Context(), rows, &waiter)
		joined <- err
	}()
	synctest.Wait() // it is inside join
	time.Sleep(9 * time.Second)
	owner.Until(wait.Now(), wait.Storage)
	time.Sleep(time.Second)
	owner.Next(wait.Room) // it is evicted, and gives up
	s.settle(rows, nil, nil)
	if err := <-joined; err != nil {
		t.Fatal(err)
	}
	var p wait.Parts
	waiter.Charge(&p, began, wait.Now())
	if want := (wait.Parts{wait.Storage: 9 * time.Second, wait.Room: time.Second}); p != want {
		t.Errorf("%v, want %v", p, want)
	}
}
