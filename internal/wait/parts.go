package wait

import "time"

// Parts are times by their cause.
type Parts [Causes]time.Duration

// Sum is the whole of the parts.
func (p *Parts) Sum() (all time.Duration) {
	for _, d := range p {
		all += d
	}
	return all
}

// Most is the largest part.
func (p *Parts) Most() (c Cause) {
	for i := range p {
		if p[i] > p[c] {
			c = Cause(i)
		}
	}
	return c
}

// Seconds are the parts that there are, by name.
func (p *Parts) Seconds() map[string]float64 {
	m := map[string]float64{}
	for i, d := range p {
		if d > 0 {
			m[Cause(i).String()] = d.Seconds()
		}
	}
	return m
}

// Add adds another loop's wait, or what came since the last addition, without Now.
func (r *Report) Add(o Report) {
	r.Seconds += o.Seconds
	r.Of += o.Of
	if r.Parts == nil {
		r.Parts = map[string]float64{}
	}
	for cause, s := range o.Parts {
		r.Parts[cause] += s
	}
}

// Clone returns a report without Now that shares no memory.
func (r Report) Clone() Report {
	sum := Report{Parts: map[string]float64{}}
	sum.Add(r)
	return sum
}

// ReportOf returns the wait of a loop of that length, in seconds.
func ReportOf(p *Parts, of float64) Report {
	r := Report{Of: of, Parts: p.Seconds()}
	for _, s := range r.Parts {
		r.Seconds += s
	}
	return r
}

// A Report is how long a training loop waited.
type Report struct {
	Seconds float64            `json:"seconds"` // in next()
	Of      float64            `json:"of"`      // seconds of the loop, since its first next()
	Parts   map[string]float64 `json:"parts"`   // by cause; they add up to Seconds
	Now     *Waiting           `json:"now"`     // the next() in progress, once it has lasted a second, or null
}

// A Waiting is a next() that has not ended. A report has its time too, about a second late.
type Waiting struct {
	Cause   string  `json:"cause"`   // that holds up the batch now
	Seconds float64 `json:"seconds"` // since next() began
}
