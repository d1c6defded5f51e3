package iterable

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/shuffle"
)

// An endless stream reads as many units as one that ends at the horizon, and waits there until the
// horizon moves or the stream is closed.
func TestHorizon(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	sources := mixtureSources(t, store, []int{400, 90}, []float64{1, 2})
	for name, o := range map[string]Options{
		"shuffled":   {Order: Order{Shuffle: true, Lanes: 4}, ShuffleBuffer: Size{Rows: 60}},
		"in order":   {},
		"mixture":    {Sources: sources, ShuffleBuffer: Size{Rows: 60}},
		"per source": {Sources: sources, ShuffleBuffer: Size{Rows: 60}, Mixing: Mixing{Batching: shuffle.PerSource}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				open := open
				if len(o.Sources) > 0 {
					open = openMixture
				}
				d := open(t, store, o)
				so := StreamOptions{BatchSize: 9, Epochs: 2, Tail: shuffle.Short}
				ends := stream(t, d, shuffle.Worker{}, so)
				var steps int
				for ; ; steps++ {
					dr, err := ends.Next(t.Context())
					if errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						t.Fatal(err)
					}
					dr.Release()
				}
				horizon := NewHorizon(1)
				so.Epochs, so.Horizon = -1, horizon
				s := stream(t, d, shuffle.Worker{}, so)
				draw := func(epoch int64) {
					dr, err := s.Next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					defer dr.Release()
					if dr.Epoch != epoch {
						t.Errorf("epoch %d, want %d", dr.Epoch, epoch)
					}
					opens := slices.ContainsFunc(dr.Trail.Marks(), func(m wait.Mark) bool { return m.Cause == wait.Open })
					if opens != (epoch == 2 && dr.Step == 0) {
						t.Errorf("epoch %d, step %d waited for %v", epoch, dr.Step, dr.Trail.Marks())
					}
				}
				for i := range steps {
					draw(int64(2 * i / steps))
				}
				synctest.Wait()
				if got, want := s.Stats().Units, ends.Stats().Units; got != want {
					t.Errorf("%d units are read, want %d", got, want)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("error %v", err)
				}
				came := make(chan bool)
				go func() {
					draw(2)
					close(came)
				}()
				synctest.Wait()
				select {
				case <-came:
					t.Error("it is beyond the horizon")
				default:
				}
				time.Sleep(time.Second) // of the bubble's clock
				horizon.Move(2)
				<-came
				for range steps/2 - 1 {
					draw(2)
				}
				closed := make(chan error)
				go func() {
					_, err := s.Next(t.Context())
					closed <- err
				}()
				synctest.Wait()
				s.Close()
				if err := <-closed; !errors.Is(err, ahead.ErrClosed) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}
