package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/mem"
)

// take sends a TAKE.
func (c *testClient) take(t testing.TB, rows ...int64) {
	t.Helper()
	frame := wire.AppendFrame(nil, wire.FrameTake, 8*len(rows))
	for _, row := range rows {
		frame = binary.LittleEndian.AppendUint64(frame, uint64(row))
	}
	if _, err := c.conn.Write(frame); err != nil {
		t.Fatal(err)
	}
}

// openMap opens the wares for rows by number.
func openMap(t testing.TB, path string) (*testClient, wire.Mapped) {
	t.Helper()
	c := dial(t, path)
	if _, err := c.open(opening); err != nil {
		t.Fatal(err)
	}
	var m wire.Mapped
	if err := errors.Join(c.send(wire.FrameMap, wire.Map{}), c.ask(wire.FrameMapped, &m)); err != nil {
		t.Fatal(err)
	}
	return c, m
}

// taken checks the answer to a TAKE, and releases it.
func (c *testClient) taken(t testing.TB, schema []wire.Node, rows ...int64) {
	t.Helper()
	b, _, err := c.batch()
	if err != nil {
		t.Fatal(err)
	}
	columns, err := b.columns(schema)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{}
	for _, row := range rows {
		want = append(want, fmt.Sprintf("%x", binary.LittleEndian.AppendUint64(nil, uint64(row))))
	}
	if got := columns[0]; !slices.Equal(got, want) {
		t.Fatalf("rows %v, want %v", got, want)
	}
	if h := b.head; int(h.Rows) != len(rows) || h.Valid != h.Rows || h.Epoch != -1 || h.Step != -1 || h.Position != -1 {
		t.Errorf("header %+v", h)
	}
	if err := c.release(b); err != nil {
		t.Fatal(err)
	}
}

// refused checks that the answer to a TAKE is an ERROR.
func (c *testClient) refused(t testing.TB, want string) {
	t.Helper()
	_, _, err := c.batch()
	var f *wire.Failure
	if !errors.As(err, &f) || f.Kind != wire.KindValue || !strings.Contains(f.Text, want) {
		t.Fatalf("error %v, want %q", err, want)
	}
}

// TAKEs that are sent ahead are answered in their order. A bad one is an ERROR, and the next ones
// are answered.
func TestMapAnswersInOrder(t *testing.T) {
	path := serveWares(t, wares(t, 3, 70, someLarge), nil)
	c, m := openMap(t, path)
	if m.Rows != 210 || m.Memory <= 0 || m.Decoded <= 0 || len(m.Schema) == 0 {
		t.Errorf("mapped %+v", m)
	}
	for range 3 {
		c.take(t, 209, 0, 0, 71)
		c.take(t, 5, 210)
		c.take(t)
		c.take(t, -1)
		for i := range int64(20) {
			c.take(t, i, 209-i)
		}
		c.taken(t, m.Schema, 209, 0, 0, 71)
		c.refused(t, "there is no row 210: the data set has 210 rows, numbered from 0 to 209")
		c.taken(t, m.Schema)
		c.refused(t, "there is no row -1")
		for i := range int64(20) {
			c.taken(t, m.Schema, i, 209-i)
		}
	}
}

// Connections to one data set share the decoded units.
func TestMapsShareMemory(t *testing.T) {
	var budget *mem.Budget
	path := serveWares(t, wares(t, 3, 70, noImages), func(o *Options, _ *Data) { budget = o.Budget })
	openMap(t, path)
	reserved := budget.Admitted()
	var all sync.WaitGroup
	var clients []*testClient
	var m wire.Mapped
	for range 4 {
		var c *testClient
		c, m = openMap(t, path)
		clients = append(clients, c)
		ring := int64(os.Getpagesize()) * 8 // of its own
		if n := budget.Admitted(); n > reserved+int64(len(clients))*ring {
			t.Errorf("%d bytes are reserved after the first connection, %d after another", reserved, n)
		}
	}
	for _, c := range clients {
		all.Go(func() {
			for i := range int64(50) {
				c.take(t, i, 200-i)
				c.taken(t, m.Schema, i, 200-i)
			}
		})
	}
	all.Wait()
}

// A trainer that dies with TAKEs under way, or with all slots, leaves nothing; others continue.
func TestMapDeath(t *testing.T) {
	path := serveWares(t, wares(t, 3, 70, noImages), nil)
	other, m := openMap(t, path)
	other.take(t, 1)
	other.taken(t, m.Schema, 1)
	had := rings(t)
	for _, batches := range []int{0, 1, 4} {
		c, _ := openMap(t, path)
		for i := range int64(20) {
			c.take(t, i, 100+i)
		}
		for range batches {
			if _, _, err := c.batch(); err != nil {
				t.Fatal(err)
			}
		}
		c.close()
		eventually(t, "the ring is gone", func() bool { return rings(t) <= had }) // an earlier test's may still have been there
	}
	other.take(t, 2, 3)
	other.taken(t, m.Schema, 2, 3)
}

// A trainer that holds all slots gets its next rows after it has released one.
func TestMapWaitsForASlot(t *testing.T) {
	path := serveWares(t, wares(t, 1, 70, noImages), nil)
	c, m := openMap(t, path)
	var held []*clientBatch
	for i := range int64(4) { // slots
		c.take(t, i)
		b, _, err := c.batch()
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, b)
	}
	c.take(t, 9)
	for _, b := range held {
		if err := c.release(b); err != nil {
			t.Fatal(err)
		}
	}
	c.taken(t, m.Schema, 9)
}

func TestMapLocates(t *testing.T) {
	path := serveWares(t, wares(t, 3, 70, noImages), nil)
	c, _ := openMap(t, path)
	var m wire.Mapped
	if err := errors.Join(c.send(wire.FrameMap, wire.Map{Locate: []int64{0, 209}}), c.ask(wire.FrameMapped, &m)); err != nil {
		t.Fatal(err)
	}
	if len(m.Places) != 2 || m.Places[0].Row != 0 || m.Places[0].Path == m.Places[1].Path || !strings.HasSuffix(m.Places[1].Path, ".parquet") {
		t.Errorf("places %+v", m.Places)
	}
	var f *wire.Failure
	if err := errors.Join(c.send(wire.FrameMap, wire.Map{Locate: []int64{210}}), c.ask(wire.FrameMapped, &m)); !errors.As(err, &f) || f.Kind != wire.KindValue {
		t.Errorf("error %v", err)
	}
	c.take(t, 7)
	c.taken(t, m.Schema, 7)
}

// A MAP that does not fit the memory is an ERROR that says what would.
func TestMapWithoutMemory(t *testing.T) {
	path := serveWares(t, wares(t, 1, 70, noImages), func(_ *Options, d *Data) { d.MapMemory = 1 << 10 })
	c := dial(t, path)
	if _, err := c.open(opening); err != nil {
		t.Fatal(err)
	}
	var m wire.Mapped
	var f *wire.Failure
	if err := errors.Join(c.send(wire.FrameMap, wire.Map{}), c.ask(wire.FrameMapped, &m)); !errors.As(err, &f) || f.Kind != wire.KindMemory || !strings.Contains(f.Text, "raise memory to") {
		t.Errorf("error %v", err)
	}
}

// The memory of rings counts, and rows that a batch has no memory for are an ERROR.
func TestMapBeyondTheBudget(t *testing.T) {
	stores := wares(t, 1, 70, someLarge)
	var budget *mem.Budget
	path := serveWares(t, stores, func(o *Options, d *Data) { budget = o.Budget })
	c, m := openMap(t, path)
	before := budget.Admitted()
	c.take(t, 1, 2, 3)
	c.taken(t, m.Schema, 1, 2, 3)
	if budget.Admitted() <= before {
		t.Error("the ring is not reserved")
	}
}

func TestMapBreaches(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, c *testClient) error
		want string
	}{
		{"TAKE before MAP", func(t *testing.T, c *testClient) error { c.take(t, 1); return nil }, "TAKE before MAPPED"},
		{"half a number", func(t *testing.T, c *testClient) error {
			_, err := c.conn.Write(append(wire.AppendFrame(nil, wire.FrameTake, 12), make([]byte, 12)...))
			return errors.Join(c.send(wire.FrameMap, wire.Map{}), c.ask(wire.FrameMapped, &wire.Mapped{}), err)
		}, "TAKE"},
		{"JOIN after MAP", func(t *testing.T, c *testClient) error {
			return errors.Join(c.send(wire.FrameMap, wire.Map{}), c.ask(wire.FrameMapped, &wire.Mapped{}), c.send(wire.FrameJoin, wire.Join{Iteration: "x"}))
		}, "JOIN on a connection that had a MAP"},
		{"MAP after JOIN", func(t *testing.T, c *testClient) error {
			if _, err := c.join(wire.Join{Iteration: "x"}); err != nil {
				return err
			}
			return c.send(wire.FrameMap, wire.Map{})
		}, "MAP on a connection that had a JOIN"},
		{"too many", func(t *testing.T, c *testClient) error {
			if err := errors.Join(c.send(wire.FrameMap, wire.Map{}), c.ask(wire.FrameMapped, &wire.Mapped{})); err != nil {
				return err
			}
			for range maxTakes + 5 { // 4 are answered: there are 4 slots
				c.take(t, 1)
			}
			return nil
		}, "64 may be"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := dial(t, serveWares(t, wares(t, 1, 70, noImages), nil))
			if _, err := x.open(opening); err != nil {
				t.Fatal(err)
			}
			err := c.do(t, x)
			for err == nil { // batches come before
				_, _, err = x.batch()
			}
			var f *wire.Failure
			if !errors.As(err, &f) || f.Kind != wire.KindProtocol || !strings.Contains(f.Text, c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
