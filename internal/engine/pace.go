package engine

import (
	"time"

	"github.com/shardfeed/shardfeed/internal/verdict"
	"github.com/shardfeed/shardfeed/internal/wait"
)

// mostPaces bounds the reports that a session keeps, and with them the recent past of its loop.
const mostPaces = 128

// A pace is the wait of a training loop, and its steps. Reports come about once a second.
type pace struct {
	wait  wait.Report
	first bool // of an iteration: it has a part of the wait for its first batch
	steps int64
}

// paces are the waits of a session's loop in the iteration that began last, and in the recent past.
// The session's mutex guards it.
type paces struct {
	epoch  []pace // its first reports as a sum, and the others
	recent []pace
	steps  int64 // of the session, at the last report
}

// start forgets the iteration before.
func (p *paces) start() { p.epoch = nil }

// add takes a report. steps counts all of the session.
func (p *paces) add(w wait.Report, steps int64) {
	one := pace{wait: w.Clone(), first: len(p.epoch) == 0 || len(p.epoch) == 1 && p.epoch[0].steps == 0, steps: steps - p.steps}
	p.steps = steps
	p.recent = append(p.recent, one)
	if n := len(p.recent) - mostPaces; n > 0 {
		p.recent = append(p.recent[:0], p.recent[n:]...)
	}
	at := 1
	if one.first {
		at = 0
	}
	if len(p.epoch) == at {
		p.epoch = append(p.epoch, pace{wait: w.Clone(), first: one.first, steps: one.steps})
		return
	}
	p.epoch[at].wait.Add(w)
	p.epoch[at].steps += one.steps
}

// last returns the reports of the last seconds of the loop; 0 is the iteration that began last.
func (p *paces) last(seconds float64) []pace {
	if seconds <= 0 {
		return p.epoch
	}
	from := len(p.recent)
	for of := 0.0; from > 0 && of < seconds; from-- {
		of += p.recent[from-1].wait.Of
	}
	return p.recent[from:]
}

// rankOf describes a loop by its reports.
func rankOf(number int, host string, paces []pace) verdict.Rank {
	r := verdict.Rank{Rank: number, Host: host}
	for _, p := range paces {
		r.Loop += span(p.wait.Of)
		r.Steps += p.steps
		for name, s := range p.wait.Parts {
			c, ok := wait.CauseOf(name)
			if !ok {
				continue
			}
			r.Wait[c] += span(s)
			if p.first {
				r.Start[c] += span(s)
			}
		}
	}
	return r
}

// span is a time of at most 30 years.
func span(seconds float64) time.Duration {
	return time.Duration(min(seconds, 1e9) * float64(time.Second))
}
