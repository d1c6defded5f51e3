package page

import (
	"maps"
	"time"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/watch"
)

// kept is how many points of an engine are kept, and how long one that has ended is.
const (
	kept     = 900
	keptTime = 15 * time.Minute
)

// A point has an engine's values for the charts at one moment, per second unless noted.
type point struct {
	At       int64              `json:"at"` // Unix time in milliseconds
	Rows     float64            `json:"rows"`
	Bytes    float64            `json:"bytes"`
	Known    bool               `json:"known"`  // the loops have reported their waits
	Wait     map[string]float64 `json:"wait"`   // shares of the loops' time by cause
	Memory   map[string]int64   `json:"memory"` // bytes in use by purpose
	Hits     *float64           `json:"hits"`   // share of bytes; null without reads
	Requests float64            `json:"requests"`
	Received float64            `json:"received"` // bytes
}

// pointOf returns the point of an engine that has rates.
func pointOf(at time.Time, e *watch.Engine) point {
	p := point{
		At: at.UnixMilli(), Rows: e.Rates.Rows, Bytes: e.Rates.Bytes, Known: e.Rates.Wait.Known, Wait: e.Rates.Wait.Parts, Memory: map[string]int64{},
		Hits: e.Rates.HitShare,
	}
	for purpose, use := range e.Now.Memory.Purposes {
		p.Memory[purpose] = use.Used
	}
	for _, s := range e.Rates.Stores {
		p.Requests += s.Requests
		p.Received += s.Bytes
	}
	return p
}

// A story is the last look at an engine and its points, the oldest first.
type story struct {
	Engine watch.Engine `json:"engine"`
	Ended  bool         `json:"ended"`
	Points []point      `json:"points"`

	seen time.Time
}

// A history has the stories of engines by their ids. Engines that do not answer have their sockets.
type history map[string]*story

// add adds a look, and forgets what is old. It returns the changes: each engine with only its
// newest point.
func (h history) add(v watch.View) history {
	changes := history{}
	for i := range v.Engines {
		e := &v.Engines[i]
		id := e.Socket
		if e.Now != nil {
			id = e.Now.Engine.ID
		}
		s := h[id]
		if s == nil {
			s = &story{Points: []point{}}
			h[id] = s
		}
		s.Engine, s.Ended, s.seen = *e, false, v.At
		change := *s
		change.Points = []point{}
		if e.Rates != nil {
			p := pointOf(v.At, e)
			change.Points = append(change.Points, p)
			s.Points = append(s.Points[max(0, len(s.Points)-kept+1):], p)
		}
		changes[id] = &change
	}
	for id, s := range h {
		if changes[id] == nil && !s.Ended {
			s.Ended = true
			change := *s
			change.Points = []point{}
			changes[id] = &change
		}
	}
	maps.DeleteFunc(h, func(_ string, s *story) bool { return v.At.Sub(s.seen) > keptTime || s.Ended && s.isEmpty() })
	return changes
}

// isEmpty reports whether an engine has never done anything.
func (s *story) isEmpty() bool { return s.Engine.Now == nil || len(s.Engine.Now.Ranks) == 0 }
