package iterable

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shuffle"
)

// reversed seats the last lane first.
func reversed(lanes int) shuffle.Seats {
	seats := make(shuffle.Seats, lanes)
	for line := range seats {
		seats[line] = lanes - 1 - line
	}
	return seats
}

// Streams with seats have the same steps, together, as streams without; a resume may have others.
func TestSeatedStreams(t *testing.T) {
	d := open(t, pictures(t), Options{Order: Order{Shuffle: true, Seed: 4, Lanes: 12}, ShuffleBuffer: Size{Rows: 900}})
	steps := func(ranks, batch int, seats shuffle.Seats, state *shuffle.State) (all [][]int64) {
		for rank := range ranks {
			so := StreamOptions{BatchSize: batch, Tail: shuffle.Pad, Seats: seats, State: state}
			for i, x := range rest(t, stream(t, d, shuffle.Worker{Rank: rank, WorldSize: ranks}, so)) {
				if len(all) == i {
					all = append(all, nil)
				}
				all[i] = append(all[i], x.ids[:x.valid]...)
			}
		}
		for _, ids := range all {
			slices.Sort(ids)
		}
		return all
	}
	same := func(what string, got, want [][]int64) {
		t.Helper()
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: the steps differ", what)
		}
	}
	same("4 ranks of whole lanes", steps(4, 60, reversed(12), nil), steps(4, 60, nil, nil))
	same("5 ranks of blocks", steps(5, 48, reversed(12), nil), steps(5, 48, nil, nil))
	state, err := d.Start(4, StreamOptions{BatchSize: 60, Tail: shuffle.Pad})
	if err != nil {
		t.Fatal(err)
	}
	state.Position = 480
	same("resumed", steps(3, 80, reversed(12), &state), steps(4, 60, nil, nil)[2:])
}

func TestSeatsOfNoPlan(t *testing.T) {
	for _, o := range []Options{{}, {Order: Order{Shuffle: true, Lanes: 6}}} {
		d := open(t, pictures(t), o)
		_, err := d.Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 960, Seats: reversed(5)})
		if err == nil || !strings.Contains(err.Error(), "Seats are of the lanes of one shuffled data set") && !strings.Contains(err.Error(), "seats: are 5, for 6 lanes") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// A note has the lanes of all ranks of the node once each has said its own. It outlives the data
// set.
func TestLaneNotes(t *testing.T) {
	o := Options{Order: Order{Shuffle: true, Seed: 4, Lanes: 16}, ShuffleBuffer: Size{Rows: 900}, LaneDir: filepath.Join(t.TempDir(), "seats")}
	so := StreamOptions{BatchSize: 64, Tail: shuffle.Pad, LocalWorldSize: 2}
	d := open(t, pictures(t), o)
	state, err := d.Start(4, so)
	if err != nil {
		t.Fatal(err)
	}
	held := func(want string) {
		t.Helper()
		var got strings.Builder
		bits := open(t, pictures(t), o).HeldLanes(state)
		for lane := range 8 * len(bits) {
			got.WriteByte('0' + bits[lane/8]>>(lane%8)&1)
		}
		if got.String() != want {
			t.Errorf("%s are held, want %s", got.String(), want)
		}
	}
	read := func(rank int, so StreamOptions) {
		stream(t, d, shuffle.Worker{Rank: rank, WorldSize: 4}, so).Close()
	}
	held("")
	read(0, so)
	held("") // not known whole
	read(1, so)
	held("1111111100000000")
	so.Seats = reversed(16)
	read(1, so)
	held("1111111100000000")
	read(0, so)
	held("0000000011111111")

	t.Run("damaged or of another order", func(t *testing.T) {
		files, err := os.ReadDir(o.LaneDir)
		if err != nil || len(files) != 1 || files[0].Name() != state.Manifest+"-4" {
			t.Fatal(files, err)
		}
		name := filepath.Join(o.LaneDir, files[0].Name())
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for what, b := range map[string][]byte{
			"empty": {}, "cut": whole[:len(whole)/2], "flipped": []byte(strings.Replace(string(whole), `"held":"A`, `"held":"B`, 1)), "not JSON": []byte("x"),
			"other lanes": []byte(strings.Replace(string(whole), `"lanes":16`, `"lanes":15`, 1)),
		} {
			if err := os.WriteFile(name, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := d.HeldLanes(state); got != nil {
				t.Errorf("%s: %v", what, got)
			}
		}
		if err := os.WriteFile(name, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		other := state
		params := *state.Params
		if params.Lanes, other.Params = 24, &params; d.HeldLanes(other) != nil {
			t.Error("lanes of another number are held")
		}
		if other = state; d.HeldLanes(other) == nil {
			t.Error("the whole note is not read")
		}
		if other.Units = "0000000000000000"; d.HeldLanes(other) != nil {
			t.Error("lanes of other units are held")
		}
	})
}

// What is noted of ranks whose data was fetched is what their streams note.
func TestNoteReads(t *testing.T) {
	for _, c := range []struct {
		lanes, world int
		ranks        []int
	}{{16, 4, []int{2, 3}}, {6, 4, []int{0, 1}}, {5, 1, []int{0}}} {
		so := StreamOptions{BatchSize: 60, Tail: shuffle.Pad, LocalWorldSize: len(c.ranks)}
		held := func(note func(*Dataset) error) []byte {
			o := Options{Order: Order{Shuffle: true, Seed: 4, Lanes: c.lanes}, ShuffleBuffer: Size{Rows: 900}, LaneDir: t.TempDir()}
			d := open(t, pictures(t), o)
			if err := note(d); err != nil {
				t.Fatal(err)
			}
			state, err := d.Start(c.world, so)
			if err != nil {
				t.Fatal(err)
			}
			return d.HeldLanes(state)
		}
		got := held(func(d *Dataset) error {
			return d.NoteReads(c.ranks, c.world, StreamOptions{BatchSize: 60, Tail: shuffle.Pad})
		})
		want := held(func(d *Dataset) error {
			for _, rank := range c.ranks {
				stream(t, d, shuffle.Worker{Rank: rank, WorldSize: c.world}, so).Close()
			}
			return nil
		})
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%+v: %v is noted, want %v", c, got, want)
		}
	}
	d := open(t, pictures(t), Options{LaneDir: t.TempDir()})
	if err := d.NoteReads([]int{0}, 2, StreamOptions{}); err != nil {
		t.Errorf("in file order: %v", err)
	}
}
