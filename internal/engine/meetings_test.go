package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// testMeetings are meetings with a clock that stands still until it is moved.
func testMeetings() (*meetings, func(time.Duration)) {
	m, now := newMeetings(), time.Now()
	m.now = func() time.Time { return now }
	return m, func(d time.Duration) { now = now.Add(d) }
}

// meet is the answer to a message that has no patience.
func meet(t *testing.T, m *meetings, c *connection, said wire.Meet) (met wire.Met) {
	t.Helper()
	if err := m.meet(c, "a meeting", said, func(answer wire.Met) { met = answer }); err != nil {
		t.Fatal(err)
	}
	return met
}

// await sends a message that has patience. What the answer is comes through the channel.
func await(t *testing.T, m *meetings, c *connection, said wire.Meet) <-chan wire.Met {
	t.Helper()
	met := make(chan wire.Met, 1)
	said.Waits, said.Patience = true, int(time.Hour/time.Millisecond)
	if err := m.meet(c, "a meeting", said, func(answer wire.Met) { met <- answer }); err != nil {
		t.Fatal(err)
	}
	return met
}

// Ranks that have patience are answered when what they want was found, or when it is their turn to
// carry.
func TestRanksWaitForNews(t *testing.T) {
	m, wait := testMeetings()
	carrier, one, two := &connection{}, &connection{}, &connection{}
	if met := <-await(t, m, carrier, wire.Meet{Wants: "a"}); !met.Carries {
		t.Fatal("the carrier waits for news")
	}
	ones, twos := await(t, m, one, wire.Meet{Wants: "a"}), await(t, m, two, wire.Meet{Wants: "b"})
	if met := meet(t, m, carrier, wire.Meet{Waits: true, Found: map[string]string{"a": "1"}}); !slices.Equal(met.Wanted, []string{"b"}) {
		t.Fatalf("the carrier looks for %v", met.Wanted)
	}
	if met := <-ones; met.Found["a"] != "1" || met.Carries {
		t.Fatalf("%+v where a was found", met)
	}
	if len(twos) > 0 {
		t.Fatalf("%+v without news", <-twos)
	}
	meet(t, m, carrier, wire.Meet{}) // it waits no more
	if met := <-twos; !met.Carries {
		t.Fatalf("%+v where the carrier has resigned", met)
	}
	ones = await(t, m, one, wire.Meet{Wants: "c"})
	m.leave(two, "a meeting")
	if met := <-ones; !met.Carries {
		t.Fatalf("%+v where the carrier has ended", met)
	}
	short := make(chan wire.Met, 1)
	if err := m.meet(two, "a meeting", wire.Meet{Waits: true, Patience: 1}, func(met wire.Met) { short <- met }); err != nil {
		t.Fatal(err)
	}
	if met := <-short; met.Carries {
		t.Fatalf("%+v after a moment without news", met)
	}
	wait(2 * carrierLease)
	if met := <-await(t, m, two, wire.Meet{Wants: "c"}); !met.Carries {
		t.Fatalf("%+v where the carrier has been silent", met)
	}
}

// The first rank that waits carries what all gave, each value until it says that it is carried.
func TestOneRankCarriesForAll(t *testing.T) {
	m, _ := testMeetings()
	gives, waits, late := &connection{}, &connection{}, &connection{}
	if met := meet(t, m, gives, wire.Meet{Values: map[string]string{"a": "1"}}); met.Carries || met.Values != nil {
		t.Fatalf("a rank that does not wait carries %v", met.Values)
	}
	met := meet(t, m, waits, wire.Meet{Values: map[string]string{"b": "2"}, Waits: true})
	if want := map[string]string{"a": "1", "b": "2"}; !met.Carries || !maps.Equal(met.Values, want) || met.Count != 2 || met.Members != 2 {
		t.Fatalf("%+v, want %v to be carried", met, want)
	}
	if met := meet(t, m, late, wire.Meet{Values: map[string]string{"c": "3"}, Waits: true}); met.Carries {
		t.Fatal("two ranks carry")
	}
	met = meet(t, m, waits, wire.Meet{Carried: 2, Waits: true})
	if want := map[string]string{"c": "3"}; !maps.Equal(met.Values, want) || met.Count != 3 {
		t.Fatalf("%+v, want %v to be carried", met, want)
	}
	if met := meet(t, m, late, wire.Meet{Waits: true, Wants: "found"}); met.Wanted != nil {
		t.Fatalf("a rank that does not carry looks for %v", met.Wanted)
	}
	if met := meet(t, m, waits, wire.Meet{Carried: 3, Waits: true, Wants: "more"}); !slices.Equal(met.Wanted, []string{"found", "more"}) {
		t.Fatalf("the carrier looks for %v", met.Wanted)
	}
	meet(t, m, waits, wire.Meet{Carried: 3, Found: map[string]string{"found": "all"}})
	if met := meet(t, m, late, wire.Meet{Waits: true, Wants: "found"}); met.Found["found"] != "all" || !met.Carries || len(met.Values)+len(met.Wanted) != 0 {
		t.Fatalf("%+v after another rank carried all and found what it waited for", met)
	}
}

// What a carrier left is carried by the next rank that waits: when the carrier ends, or is silent.
func TestAnotherRankCarriesOn(t *testing.T) {
	for _, ends := range []bool{true, false} {
		t.Run(fmt.Sprintf("ends %v", ends), func(t *testing.T) {
			m, wait := testMeetings()
			first, second := &connection{}, &connection{}
			meet(t, m, first, wire.Meet{Values: map[string]string{"a": "1"}, Waits: true})
			meet(t, m, second, wire.Meet{Values: map[string]string{"b": "2"}, Waits: true})
			meet(t, m, first, wire.Meet{Carried: 1, Waits: true})
			if wait(carrierLease); meet(t, m, second, wire.Meet{Waits: true}).Carries {
				t.Fatal("the second rank carries while the first one does")
			}
			if ends {
				m.leave(first, "a meeting")
			} else {
				wait(time.Millisecond)
			}
			met := meet(t, m, second, wire.Meet{Waits: true})
			if want := map[string]string{"b": "2"}; !met.Carries || !maps.Equal(met.Values, want) || met.Count != 2 {
				t.Fatalf("%+v, want %v to be carried", met, want)
			}
			if !ends && meet(t, m, first, wire.Meet{Carried: 2, Waits: true}).Carries {
				t.Fatal("the first rank still carries")
			}
		})
	}
}

func TestMeetingEndsWithItsConnections(t *testing.T) {
	m, _ := testMeetings()
	first, second := &connection{}, &connection{}
	meet(t, m, first, wire.Meet{Found: map[string]string{"found": "all"}})
	meet(t, m, second, wire.Meet{})
	m.leave(first, "a meeting")
	if met := meet(t, m, second, wire.Meet{}); met.Found["found"] != "all" {
		t.Fatal("what was found ended with the connection that found it")
	}
	m.leave(second, "a meeting")
	if len(m.of) > 0 {
		t.Fatal("the meeting is left")
	}
	if met := meet(t, m, first, wire.Meet{}); len(met.Found) > 0 {
		t.Fatalf("the next meeting of the name has found %v", met.Found)
	}
	m.leave(first, "another meeting")
}

func TestMeetingIsBounded(t *testing.T) {
	m, _ := testMeetings()
	c, half := &connection{}, strings.Repeat("x", maxMeeting/2)
	meet(t, m, c, wire.Meet{Values: map[string]string{"a": half}, Found: map[string]string{"a": half}, Waits: true})
	for _, said := range []wire.Meet{{Values: map[string]string{"b": half}}, {Found: map[string]string{"b": half}}} {
		if err := m.meet(c, "a meeting", said, func(wire.Met) {}); err == nil || !strings.Contains(err.Error(), "at most 4 MiB") {
			t.Fatalf("error %v", err)
		}
	}
	meet(t, m, c, wire.Meet{Waits: true})
	meet(t, m, c, wire.Meet{Carried: 1, Values: map[string]string{"b": half}})
}

// Ranks of one job meet by their connections, which need no OPEN.
func TestMeetOverConnections(t *testing.T) {
	path := serveWares(t, nil, nil)
	greet := func(job string) *testClient {
		c := dial(t, path)
		var w wire.Welcome
		if err := errors.Join(c.send(wire.FrameHello, wire.Hello{Version: wire.Version, PID: 1, Job: job}), c.ask(wire.FrameWelcome, &w)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	meet := func(c *testClient, said wire.Meet) (met wire.Met, err error) {
		return met, errors.Join(c.send(wire.FrameMeet, said), c.ask(wire.FrameMet, &met))
	}
	first, second, other := greet("a"), greet("a"), greet("b")
	for _, step := range []struct {
		of      *testClient
		said    wire.Meet
		carries string
		members int
	}{
		{of: first, said: wire.Meet{Name: "m", Values: map[string]string{"k": "1"}}, members: 1},
		{of: other, said: wire.Meet{Name: "m", Waits: true}, members: 1},
		{of: second, said: wire.Meet{Name: "m", Waits: true}, carries: "1", members: 2},
	} {
		if met, err := meet(step.of, step.said); err != nil || met.Values["k"] != step.carries || met.Members != step.members {
			t.Errorf("%+v is answered by %+v, %v", step.said, met, err)
		}
	}
	if _, err := meet(first, wire.Meet{Name: "m", Values: map[string]string{"k": strings.Repeat("x", maxMeeting)}}); err == nil {
		t.Error("the engine takes what is too large")
	}
	if _, err := meet(first, wire.Meet{Name: "m"}); err != nil {
		t.Errorf("after a refusal: %v", err)
	}
	second.close()
	for met := (wire.Met{Members: 2}); met.Members > 1; {
		var err error
		if met, err = meet(first, wire.Meet{Name: "m"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"", "n"} {
		if _, err := meet(first, wire.Meet{Name: name}); err == nil || !strings.Contains(err.Error(), "MEET of") {
			t.Errorf("a second meeting: %v", err)
		}
		first = greet("a")
		if _, err := meet(first, wire.Meet{Name: "m"}); err != nil {
			t.Fatal(err)
		}
	}
}
