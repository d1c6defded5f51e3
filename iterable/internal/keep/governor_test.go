package keep

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardfeed/shardfeed/internal/cores"
)

// work takes turns of 30 ms for a while and returns the time that it worked. So many processors are
// idle while it does not.
func work(g *governor, during time.Duration, idle float64) (worked time.Duration) {
	g.idle = func() (float64, bool) { return idle, true }
	ctx, cancel := context.WithTimeout(context.Background(), during)
	defer cancel()
	for g.enter(ctx, 30<<20) {
		time.Sleep(30 * time.Millisecond)
		worked += 30 * time.Millisecond
		g.leave(30<<20, 30*time.Millisecond)
	}
	return worked
}

// While all processors are busy, work takes its share of them and no more, whenever one looks.
func TestGovernorShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &governor{}
		most := time.Duration(cores.Number()) * time.Minute / keepShare
		worked := work(g, time.Minute, 0.3)
		if worked > most || worked < most/2 {
			t.Errorf("worked %v of at most %v", worked, most)
		}
		time.Sleep(time.Hour) // is not saved up
		if worked := work(g, 2*time.Second, 0); worked > 100*time.Millisecond {
			t.Errorf("worked %v at once after an hour without work", worked)
		}
	})
}

// While a processor is idle, work goes on most of the time; once none is, it goes back to its
// share.
func TestGovernorIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &governor{}
		if worked := work(g, time.Minute, 1.05); worked < 40*time.Second {
			t.Errorf("worked %v of a minute on an idle processor", worked)
		}
		if worked := work(g, time.Minute, 0.2); worked > 2*time.Second*time.Duration(cores.Number()) {
			t.Errorf("worked %v of a minute on a busy machine", worked)
		}
	})
}

// Where the system does not tell what is idle, work keeps to its share.
func TestGovernorUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &governor{}
		g.idle = func() (float64, bool) { return 9, false }
		if g.may(time.Second) {
			t.Error("work begins at once")
		}
	})
}

// A keeper that waits for another's turn ends with its context too.
func TestGovernorTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &governor{idle: func() (float64, bool) { return 0, true }}
		ctx, cancel := context.WithCancel(context.Background())
		go g.enter(ctx, 1<<40)
		time.Sleep(time.Second)
		short, end := context.WithTimeout(context.Background(), time.Second)
		defer end()
		if began := time.Now(); g.enter(short, 1) || time.Since(began) > 2*time.Second {
			t.Errorf("two turns at a time, or a wait of %v", time.Since(began))
		}
		cancel()
	})
}

// Who waits for a turn stops when its context ends.
func TestGovernorEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &governor{idle: func() (float64, bool) { return 0, true }}
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		if g.enter(ctx, 1<<40) {
			t.Error("work of hours begins at once")
		}
	})
}
