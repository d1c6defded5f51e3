package engine

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// meetings collect the ranks of this machine before they compare with others, in a store that
// serves all ranks of the job. One of them, the carrier, contacts it for all.
type meetings struct {
	mu  sync.Mutex
	of  map[string]*meeting
	now func() time.Time
}

// carrierLease is how long a carrier may be silent: longer than the longest pause between two
// messages of a rank that waits.
const carrierLease = 3 * time.Second

func newMeetings() *meetings {
	return &meetings{of: map[string]*meeting{}, now: time.Now}
}

// A meeting lives as long as one of its connections.
type meeting struct {
	members map[*connection]*member
	carrier *connection // nil: the next rank that waits
	until   time.Time   // the carrier's lease

	values  []map[string]string // that are not carried yet
	carried int                 // values before these
	size    int                 // bytes of values
	found   map[string]string
	learned int // bytes of found
}

// A member is a rank of a meeting.
type member struct {
	wants  string         // the key whose value it waits for
	answer func(wire.Met) // to its message; nil once it is answered
	timer  *time.Timer    // of a message that waits for news
}

// maxMeeting bounds the values that wait to be carried, and the values found, in bytes.
const maxMeeting = wire.MaxPayload / 4

// maxPatience is the longest time that a message waits for news.
const maxPatience = 10 * time.Second

// meet handles the message of a connection, which belongs to the meeting from then on. The answer
// comes now, or as soon as there is news.
func (m *meetings) meet(c *connection, key string, said wire.Meet, answer func(wire.Met)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.of[key]
	if t == nil {
		t = &meeting{members: map[*connection]*member{}, found: map[string]string{}}
		m.of[key] = t
	}
	t.tell(c)
	r := &member{wants: said.Wants}
	t.members[c] = r
	if t.carrier == c {
		t.drop(said.Carried)
	}
	if err := t.take(said); err != nil {
		return err
	}
	r.answer = answer
	now := m.now()
	switch mine := t.carrier == c; {
	case said.Waits && (mine || t.carrier == nil || now.After(t.until)):
		t.carrier, t.until = c, now.Add(carrierLease)
	case mine:
		t.carrier = nil
	}
	if patience := min(time.Duration(said.Patience)*time.Millisecond, maxPatience); patience > 0 && said.Waits && t.carrier != c {
		r.timer = time.AfterFunc(patience, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if t.members[c] == r {
				t.tell(c)
			}
		})
	} else {
		t.tell(c)
	}
	t.news(now)
	return nil
}

// news answers the waiting ranks with the values so far, and makes one of them the carrier if
// needed.
func (t *meeting) news(now time.Time) {
	for c, r := range t.members {
		if r.answer == nil {
			continue
		}
		if t.carrier == nil {
			t.carrier, t.until = c, now.Add(carrierLease)
		}
		if _, found := t.found[r.wants]; found || t.carrier == c {
			t.tell(c)
		}
	}
}

// tell answers the MEET of a member, if it is waiting.
func (t *meeting) tell(c *connection) {
	r := t.members[c]
	if r == nil || r.answer == nil {
		return
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	met := wire.Met{Members: len(t.members), Found: t.found}
	if t.carrier == c {
		met.Carries, met.Count, met.Values = true, t.carried+len(t.values), map[string]string{}
		for _, v := range t.values {
			maps.Copy(met.Values, v)
		}
		met.Wanted = t.wanted()
	}
	answer := r.answer
	r.answer = nil
	answer(met)
}

// take adds what a rank gives to the meeting.
func (t *meeting) take(said wire.Meet) error {
	maps.DeleteFunc(said.Found, func(key, _ string) bool { _, known := t.found[key]; return known })
	size, learned := sizeOf(said.Values), sizeOf(said.Found)
	if t.size+size > maxMeeting || t.learned+learned > maxMeeting {
		return wire.ValueError("a meeting of ranks holds at most %d MiB", maxMeeting>>20)
	}
	if len(said.Values) > 0 {
		t.values = append(t.values, said.Values)
		t.size += size
	}
	maps.Copy(t.found, said.Found)
	t.learned += learned
	return nil
}

// wanted returns the keys that ranks wait for and that were not found yet.
func (t *meeting) wanted() []string {
	keys := map[string]bool{}
	for _, r := range t.members {
		if _, found := t.found[r.wants]; r.wants != "" && !found {
			keys[r.wants] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// drop forgets values that were carried, up to a count.
func (t *meeting) drop(carried int) {
	for t.carried < carried && len(t.values) > 0 {
		t.size -= sizeOf(t.values[0])
		t.values = t.values[1:]
		t.carried++
	}
}

func sizeOf(values map[string]string) int {
	n := 0
	for key, value := range values {
		n += len(key) + len(value)
	}
	return n
}

// leave ends a connection's part in its meeting. Another rank carries what it left.
func (m *meetings) leave(c *connection, key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.of[key]
	if t == nil {
		return
	}
	if r := t.members[c]; r != nil && r.timer != nil {
		r.timer.Stop()
	}
	delete(t.members, c)
	if t.carrier == c {
		t.carrier = nil
		t.news(m.now())
	}
	if len(t.members) == 0 {
		delete(m.of, key)
	}
}
