package feed

import (
	"context"
	"errors"
	"runtime/debug"
	"time"
)

// closing is how long what lies below a data set may take to end.
const closing = 15 * time.Second

// opened is a data set that connections share. Its goroutine opens it and closes it when the last has left.
type opened struct {
	engine  *engine
	key     string
	request Request
	ctx     context.Context // ends when nobody wants the data set any more
	cancel  context.CancelFunc
	ready   chan struct{} // closed when data or err is set

	data *Data
	told Opened
	err  error

	// Guarded by the engine's mutex.
	users  int
	groups map[string]*group

	watchers map[*func(Progress)]bool // are told how far opening is
	last     *Progress                // that was told
}

func newOpened(e *engine, key string, r Request) *opened {
	d := &opened{
		engine: e, key: key, request: r, ready: make(chan struct{}), groups: map[string]*group{}, watchers: map[*func(Progress)]bool{},
	}
	d.ctx, d.cancel = context.WithCancel(e.ctx)
	d.request.Note = d.note
	return d
}

// note tells each trainer that reads the data set now.
func (d *opened) note(text string) {
	for _, r := range d.engine.runs() {
		if r.session.opened == d {
			r.note(Note{Level: "warning", Text: redact(text), Once: redact(text)})
		}
	}
}

// own opens the data set, and closes it in the end.
func (d *opened) own() {
	began := time.Now()
	d.data, d.err = d.open()
	if d.err == nil {
		d.told = describe(d.data)
		d.engine.Logger.Info("opened", "addresses", d.request.Spec.Addresses, "rows", d.told.Rows, "shards", d.told.Shards, "took", time.Since(began))
	} else {
		d.engine.Logger.Error("open failed", "addresses", d.request.Spec.Addresses, "error", d.err)
		d.forget()
	}
	close(d.ready)
	if d.err != nil {
		return
	}
	<-d.ctx.Done()
	for _, r := range d.engine.runs() {
		if r.session.opened == d {
			<-r.done
		}
	}
	d.forget()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), closing)
	defer cancel()
	err := d.data.Dataset.Close()
	if d.data.Close != nil {
		err = errors.Join(err, d.data.Close(ctx))
	}
	if err != nil {
		d.engine.Logger.Warn("closing a data set", "addresses", d.request.Spec.Addresses, "error", err)
		return
	}
	d.engine.Logger.Info("closed", "addresses", d.request.Spec.Addresses)
}

// open turns a panic into the error of those who wait.
func (d *opened) open() (data *Data, err error) {
	defer func() {
		if v := recover(); v != nil {
			d.engine.Logger.Error("panic", "value", v, "stack", string(debug.Stack()))
			data, err = nil, newFailure(KindInternal, "panic: %v", v)
		}
	}()
	return d.engine.Open(d.ctx, d.request, d.progress)
}

// forget makes the engine open the data set anew for whoever asks next.
func (d *opened) forget() {
	d.engine.mu.Lock()
	defer d.engine.mu.Unlock()
	if d.engine.opened[d.key] == d {
		delete(d.engine.opened, d.key)
	}
}

// wait waits until the data set is open.
func (d *opened) wait(ctx context.Context, progress func(Progress)) error {
	mu := &d.engine.mu
	mu.Lock()
	d.watchers[&progress] = true
	if d.last != nil {
		progress(*d.last)
	}
	mu.Unlock()
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		delete(d.watchers, &progress)
	}()
	select {
	case <-d.ready:
		return d.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// progress tells all who wait.
func (d *opened) progress(p Progress) {
	d.engine.mu.Lock()
	defer d.engine.mu.Unlock()
	d.last = &p
	for tell := range d.watchers {
		(*tell)(p)
	}
}

// leave is called once by each who entered. The last one ends the data set; it is forgotten at once, so that whoever comes now opens it anew.
func (d *opened) leave() {
	d.engine.mu.Lock()
	defer d.engine.mu.Unlock()
	if d.users--; d.users > 0 {
		return
	}
	if d.engine.opened[d.key] == d {
		delete(d.engine.opened, d.key)
	}
	d.cancel()
}

// group is the sessions of a trainer's data set object. Its caller has entered d, and leaves the group instead.
func (d *opened) group(name string) *group {
	d.engine.mu.Lock()
	defer d.engine.mu.Unlock()
	g := d.groups[name]
	if g == nil {
		g = &group{opened: d, name: name, sessions: map[int]*session{}}
		d.groups[name] = g
	}
	g.users++
	return g
}

// A group is the sessions of one data set object of a trainer, one for each rank that it was used as. It lives as long as the object has a
// connection.
type group struct {
	opened *opened
	name   string

	// Guarded by the engine's mutex.
	users    int
	sessions map[int]*session
}

// session is that of a rank.
func (g *group) session(rank int) *session {
	e := g.opened.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	s := g.sessions[rank]
	if s == nil {
		s = newSession(g.opened, rank)
		g.sessions[rank] = s
	}
	return s
}

// leave is called once for each user.
func (g *group) leave() {
	e := g.opened.engine
	e.mu.Lock()
	g.users--
	last := g.users == 0
	var ended []*session
	if last {
		delete(g.opened.groups, g.name)
		for _, s := range g.sessions {
			ended = append(ended, s)
		}
	}
	e.mu.Unlock()
	for _, s := range ended {
		s.close()
	}
	if last {
		e.agreed.forget(g)
	}
	g.opened.leave()
}
