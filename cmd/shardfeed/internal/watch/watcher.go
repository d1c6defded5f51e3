package watch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine"
)

// answerTime is how long an engine may take to answer a look.
const answerTime = 2 * time.Second

// A Watcher looks at engines. It is not safe for concurrent use.
type Watcher struct {
	sockets func() []string
	given   bool                        // the sockets: each is shown, also without an engine
	last    map[string]*engine.Snapshot // by the engines' ids
}

// New returns a watcher of the engines at these sockets; without any, of all engines of this user.
func New(sockets ...string) *Watcher {
	w := &Watcher{sockets: engine.Sockets}
	if len(sockets) > 0 {
		w.sockets, w.given = func() []string { return sockets }, true
	}
	return w
}

// Look asks all engines at the same time what they do.
func (w *Watcher) Look(ctx context.Context) View {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	sockets := w.sockets()
	found := make([]*Engine, len(sockets))
	var asking sync.WaitGroup
	for i, socket := range sockets {
		asking.Go(func() { found[i] = w.ask(ctx, socket) })
	}
	asking.Wait()
	return View{At: time.Now(), Engines: w.compared(found)}
}

// ask returns what an engine does, or nil if one that was found has ended.
func (w *Watcher) ask(ctx context.Context, socket string) *Engine {
	s, err := engine.Survey(ctx, socket)
	if errors.Is(err, engine.ErrNoEngine) && !w.given {
		return nil
	}
	if err != nil {
		return &Engine{Socket: socket, Error: err.Error()}
	}
	return &Engine{Socket: socket, Now: &s}
}

// compared returns the engines with their rates since the last look, each once.
func (w *Watcher) compared(found []*Engine) []Engine {
	all, now := []Engine{}, map[string]*engine.Snapshot{}
	for _, e := range found {
		if e == nil || e.Now != nil && now[e.Now.Engine.ID] != nil {
			continue
		}
		if e.Now != nil {
			id := e.Now.Engine.ID
			now[id] = e.Now
			if before := w.last[id]; before != nil {
				e.Rates = ratesOf(before, e.Now)
			}
		}
		all = append(all, *e)
	}
	w.last = now
	slices.SortStableFunc(all, func(a, b Engine) int { return a.started().Compare(b.started()) })
	return all
}

func (e Engine) started() time.Time {
	if e.Now == nil {
		return time.Time{}
	}
	return e.Now.Engine.Started
}
