package rule

import (
	"strings"
	"time"
)

const dayLong = 24 * time.Hour

// A clock is today() or now(), plus intervals.
type clock struct {
	word   string
	shifts []interval
}

func (c *clock) String() string {
	s := c.word + "()"
	for _, by := range c.shifts {
		s += " " + by.String()
	}
	return s
}

// at is the value at an instant. It has no zone, so that it fits local and UTC columns.
func (c *clock) at(now time.Time) (l literal, err error) {
	now = now.UTC()
	midnight := now.Truncate(dayLong)
	l = literal{kind: dateLiteral, time: instant{day: midnight.Unix() / secondsOfDay}}
	if c.word == "now" {
		l.kind, l.time.nanos = timestampLiteral, int64(now.Sub(midnight).Truncate(time.Second))
	}
	for _, by := range c.shifts {
		if l, err = l.shifted(by); err != nil {
			return l, err
		}
	}
	return l, nil
}

// Clock returns the part of an instant on which the rows that the filter keeps depend: nothing (the
// zero Time), its UTC day if the filter has today(), or its UTC second if it has now().
func (e *Expr) Clock(now time.Time) time.Time {
	var part time.Time
	visit(e.root, func(t *test) {
		for i := range t.values {
			c := t.values[i].clock
			switch {
			case c == nil:
			case c.word == "now":
				part = now.UTC().Truncate(time.Second)
			case part.IsZero():
				part = now.UTC().Truncate(dayLong)
			}
		}
	})
	return part
}

// At is the filter with the values that today() and now() have at an instant.
func (e *Expr) At(now time.Time) (*Expr, error) {
	if e.Clock(now).IsZero() {
		return e, nil
	}
	root, err := nodeAt(e.root, now)
	return &Expr{root: root}, err
}

func nodeAt(n node, now time.Time) (_ node, err error) {
	switch n := n.(type) {
	case *logic:
		all := &logic{or: n.or, of: make([]node, len(n.of))}
		for i, m := range n.of {
			if all.of[i], err = nodeAt(m, now); err != nil {
				return nil, err
			}
		}
		return all, nil
	case *negation:
		of, err := nodeAt(n.of, now)
		return &negation{of}, err
	}
	t := *n.(*test)
	t.values = append([]literal(nil), t.values...)
	for i := range t.values {
		c := t.values[i].clock
		if c == nil {
			continue
		}
		if t.values[i], err = c.at(now); err != nil {
			return nil, wrong(optionField, err, "%v", err)
		}
	}
	return &t, nil
}

// clock reads today() or now() and the intervals behind it.
func (p *parser) clock() (literal, error) {
	c := &clock{word: strings.ToLower(p.now().text)}
	p.place += 2
	if !p.takeSymbol(")") {
		return literal{}, p.fail("%s takes no argument: write %s()", c.word, c.word)
	}
	shifts, err := p.shifts(c.word == "today")
	c.shifts = shifts
	return literal{kind: clockLiteral, clock: c}, err
}

// isClock reports whether today() or now() is next.
func (p *parser) isClock() bool {
	t := p.now()
	return p.calls() && (t.isWord("today") || t.isWord("now"))
}

// shifts reads intervals that are added or subtracted, and numbers of days where the value is a
// date.
func (p *parser) shifts(date bool) (all []interval, err error) {
	for p.now().isSymbol("+") || p.now().isSymbol("-") {
		minus := p.now().text == "-"
		p.place++
		by, err := p.interval(date)
		if err != nil {
			return nil, err
		}
		if minus {
			by = by.negated()
		}
		all = append(all, by)
		date = date && by.nanos%nanosOfDay == 0
	}
	return all, nil
}

// interval reads interval '7 days', interval 7 days, interval '7' day, or a number of days.
func (p *parser) interval(date bool) (interval, error) {
	text := p.now().text
	switch {
	case p.now().kind == digitsToken && date:
		p.place++
		text += " days"
	case !p.takeWord("interval"):
		return interval{}, p.unexpected("an interval, as in today() - interval '7 days'")
	default:
		amount := p.now()
		if amount.kind != singleToken && amount.kind != doubleToken && amount.kind != digitsToken {
			return interval{}, p.unexpected("an interval in quotes, as in interval '7 days'")
		}
		p.place++
		text = amount.text
		if len(strings.Fields(text)) == 1 && p.now().kind == wordToken {
			text += " " + p.now().text
			p.place++
		}
	}
	by, err := parseInterval(text)
	if err != nil {
		p.place--
		return by, p.fail("%v", err)
	}
	return by, nil
}

// moved reads the intervals behind a date or a timestamp, and adds them.
func (p *parser) moved(l literal) (_ literal, err error) {
	shifts, err := p.shifts(l.kind == dateLiteral)
	if err != nil {
		return l, err
	}
	for _, by := range shifts {
		if l, err = l.shifted(by); err != nil {
			p.place--
			return l, p.fail("%v", err)
		}
	}
	return l, nil
}
