package mem

import "errors"

// A Meter counts the bytes of several arenas of one owner. Beyond an allowance it asks for bytes
// before an arena takes them. The zero value and nil allow all. It is not safe for concurrent use.
type Meter struct {
	allowed int64
	more    func(n int64) error
	held    int64
}

// NewArena returns an empty arena of the pool that the meter counts.
func (m *Meter) NewArena(p *Pool) *Arena { return &Arena{pool: p, meter: m} }

// Allow lets the arenas take bytes in addition to their current ones. Beyond that they call more,
// which grants n bytes or returns an error: the arena then panics with an [Exceeded]. A nil more
// grants all.
func (m *Meter) Allow(bytes int64, more func(n int64) error) { m.allowed, m.more = m.held+bytes, more }

// ask makes sure that n more bytes are allowed.
func (m *Meter) ask(n int64) {
	if m == nil || m.more == nil || m.held+n <= m.allowed {
		return
	}
	lack := m.held + n - m.allowed
	if err := m.more(lack); err != nil {
		panic(Refused(err, lack))
	}
	m.allowed += lack
}

func (m *Meter) count(n int64) {
	if m != nil {
		m.held += n
	}
}

// leave stops counting n bytes, which were allowed for good.
func (m *Meter) leave(n int64) {
	if m != nil {
		m.held -= n
		m.allowed -= n
	}
}

// Refused is the Exceeded of n bytes that were refused.
func Refused(err error, n int64) Exceeded {
	e := Exceeded{Need: n, Err: err}
	if over := (*OverLimit)(nil); errors.As(err, &over) {
		e.Need, e.Limit = over.Admitted+over.Need.Total(), over.Limit
	}
	return e
}
