package iteration

import (
	"context"
	"runtime"
	"time"
)

// The first look of Watch comes after FirstLook, then each after twice as long, up to lastLook.
const (
	FirstLook = time.Second
	lastLook  = 10 * time.Second
)

// Watch returns a context for a wait for memory that only the release of a batch can free. If the
// wait takes long, Watch checks whether batches were dropped without Release, as their cleanups
// count: when lost reports that no batch can be released any more, the context ends. While might is
// false no garbage is collected. Call stop once; it reports whether all were lost.
//
// A batch that is still referred to may be released by any goroutine or timer. So a consumer that
// waits while it holds all batches itself is not found here; only a timeout finds it.
func Watch(ctx context.Context, might, lost func() bool) (_ context.Context, stop func() bool) {
	ctx, cancel := context.WithCancel(ctx)
	looked, found := make(chan struct{}), false
	look := time.AfterFunc(FirstLook, func() {
		defer close(looked)
		for pause := 2 * FirstLook; ; pause = min(2*pause, lastLook) {
			if found = collected(might, lost); found {
				cancel()
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	})
	return ctx, func() bool {
		cancel()
		if !look.Stop() {
			<-looked
		}
		return found
	}
}

// collected reports whether all batches are lost after a collection of garbage.
func collected(might, lost func() bool) bool {
	for range 3 {
		if !might() {
			return false
		}
		runtime.GC()
		time.Sleep(time.Millisecond) // cleanups run after the collection, in a goroutine of their own
		if lost() {
			return true
		}
	}
	return false
}
