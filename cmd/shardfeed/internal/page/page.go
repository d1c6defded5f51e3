package page

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/watch"
)

const (
	headTimeout = 10 * time.Second
	sendTimeout = 10 * time.Second // to a browser that does not read
	mostReaders = 32
)

// A Page looks at engines and sends what it sees to browsers.
type Page struct {
	watcher *watch.Watcher
	every   time.Duration
	token   string

	mu      sync.Mutex
	stories history
	news    chan struct{} // closed by the next look
	latest  []byte        // what the last look changed
	looks   int64
	readers int
}

// New returns a page that looks at engines at intervals of every.
func New(w *watch.Watcher, every time.Duration) *Page {
	return &Page{watcher: w, every: every, token: rand.Text(), stories: history{}, news: make(chan struct{})}
}

// URL returns the address of the page at l, with its token.
func (p *Page) URL(l net.Listener) string {
	return fmt.Sprintf("http://%v/?token=%s", l.Addr(), p.token)
}

// Serve serves the page at l until ctx ends, and closes l.
func (p *Page) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	server := &http.Server{Handler: p.handler(), ReadHeaderTimeout: headTimeout, BaseContext: func(net.Listener) context.Context { return ctx }}
	var looking sync.WaitGroup
	looking.Go(func() { p.look(ctx) })
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	err := server.Serve(l)
	cancel()
	stop()
	looking.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// look looks at the engines until ctx ends.
func (p *Page) look(ctx context.Context) {
	for ctx.Err() == nil {
		v := p.watcher.Look(ctx)
		p.add(v)
		select {
		case <-time.After(p.every):
		case <-ctx.Done():
		}
	}
}

// add adds a look and wakes the readers.
func (p *Page) add(v watch.View) {
	p.mu.Lock()
	defer p.mu.Unlock()
	changes, err := json.Marshal(p.stories.add(v))
	if err != nil { // a number that JSON cannot hold; the next look may be better
		return
	}
	p.latest = changes
	p.looks++
	close(p.news)
	p.news = make(chan struct{})
}

func (p *Page) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /events", p.guarded(p.events))
	mux.HandleFunc("GET /{$}", p.guarded(file("index.html")))
	mux.HandleFunc("GET /page.js", file("page.js"))
	mux.HandleFunc("GET /page.css", file("page.css"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("Referrer-Policy", "no-referrer") // the address has the token
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

// guarded refuses requests without the token.
func (p *Page) guarded(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if given := r.URL.Query().Get("token"); subtle.ConstantTimeCompare([]byte(given), []byte(p.token)) != 1 {
			http.Error(w, "This page needs the token of its address, which shardfeed page prints when it starts.", http.StatusForbidden)
			return
		}
		next(w, r)
	}
}

// events sends all stories, and then the changes of each look.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		http.Error(w, "The page has too many readers.", http.StatusServiceUnavailable)
		return
	}
	defer p.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	out, seen := http.NewResponseController(w), int64(-1)
	for {
		event, data, looks, news := p.since(seen)
		if data != nil {
			_ = out.SetWriteDeadline(time.Now().Add(sendTimeout))
			if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data); err != nil {
				return
			}
			if err := out.Flush(); err != nil {
				return
			}
		}
		seen = looks
		select {
		case <-news:
		case <-r.Context().Done():
			return
		}
	}
}

// since returns what a reader has not seen: the last changes, or all if it has missed some. It
// returns the number of looks that this is, and a channel that the next one closes.
func (p *Page) since(seen int64) (event string, data []byte, looks int64, news <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	event = "change"
	switch {
	case seen == p.looks:
	case seen == p.looks-1 && seen >= 0:
		data = p.latest
	default:
		event = "all"
		data, _ = json.Marshal(p.stories) // each part was marshalled before
	}
	return event, data, p.looks, p.news
}

func (p *Page) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readers == mostReaders {
		return false
	}
	p.readers++
	return true
}

func (p *Page) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readers--
}
