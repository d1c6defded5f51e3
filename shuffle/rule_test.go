package shuffle

import (
	"strings"
	"testing"
)

// evenUnits are n units of so many rows.
func evenUnits(n int, rows int64) []Unit {
	u := make([]Unit, n)
	for i := range u {
		u[i] = Unit{Group: i, Hi: rows, Samples: rows}
	}
	return u
}

// The rule on the settings of the study of small data, and at its edges.
func TestRule(t *testing.T) {
	for _, c := range []struct {
		name        string
		units       []Unit
		o           Options
		lanes       int
		quantum, d  int64
		boundOverR  bool // more than the buffer is needed
		boundOfRows int64
	}{
		{"a 10 %", evenUnits(40, 2500), Options{Buffer: 10_000}, 1, 312, 66, false, 10_000},
		{"a 25 %", evenUnits(40, 2500), Options{Buffer: 25_000}, 2, 312, 90, false, 25_000},
		{"a 10 %, 8 ranks", evenUnits(40, 2500), Options{Buffer: 10_000, WorldSize: 8}, 8, 312, 1, true, 8 * (104 + 624 + 2500)},
		{"a 25 %, 8 ranks", evenUnits(40, 2500), Options{Buffer: 25_000, WorldSize: 8}, 8, 312, 1, true, 8 * (104 + 624 + 2500)},
		{"b 10 %", evenUnits(40, 50_000), Options{Buffer: 200_000}, 1, 6250, 66, false, 200_000},
		{"c 10 %", evenUnits(80, 2500), Options{Buffer: 20_000}, 2, 312, 66, false, 20_000},
		{"c 10 %, 8 ranks", evenUnits(80, 2500), Options{Buffer: 20_000, WorldSize: 8}, 8, 312, 1, true, 8 * (104 + 624 + 2500)},
		{"64 lanes at most", evenUnits(10_000, 1000), Options{Buffer: 5_000_000}, 64, 125, 1845, false, 5_000_000},
		{"an eighth of the units", evenUnits(100, 1000), Options{Buffer: 90_000}, 8, 125, 240, false, 90_000},
		{"three ranks", evenUnits(10_000, 1000), Options{Buffer: 5_000_000, WorldSize: 3}, 48, 125, 2469, false, 4_999_968},
		{"twelve ranks", evenUnits(10_000, 1000), Options{Buffer: 200_000, WorldSize: 12}, 48, 125, 69, false, 199_968},
		{"lanes for the largest world", evenUnits(100, 1000), Options{Buffer: 10_000, WorldSize: 3, MaxWorldSize: 50}, 96, 125, 1, true, 100_000},
		{"the buffer holds all", evenUnits(40, 2500), Options{Buffer: 100_000}, 4, 312, 210, false, 100_000},
		{"the buffer holds far more", evenUnits(40, 2500), Options{Buffer: 1 << 50}, 4, 312, 243, false, 100_000},
		{"a row a lane", evenUnits(1, 10), Options{Buffer: 1, WorldSize: 8}, 8, 1, 1, true, 10},
		{"one group of ten rows on 8 ranks", evenUnits(1, 10), Options{Buffer: 1000, WorldSize: 8}, 8, 1, 9, false, 10},
		{"fewer rows than lanes", evenUnits(1, 3), Options{Buffer: 10, WorldSize: 8}, 8, 1, 1, true, 3},
		{"one row", evenUnits(1, 1), Options{Buffer: 1}, 1, 1, 1, true, 1},
		{"nothing", nil, Options{Buffer: 100, WorldSize: 4}, 4, 1, 6, false, 0},
		{"pinned lanes", evenUnits(40, 2500), Options{Buffer: 100_000, Lanes: 10}, 10, 312, 66, false, 100_000},
		{"life of 65,535 at most", evenUnits(1_000_000, 8), Options{Buffer: 1 << 40, Lanes: 1}, 1, 1, 65535, false, 8_000_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := c.o.Params(ListUnits(c.units))
			if err != nil {
				t.Fatal(err)
			}
			if p.Lanes != c.lanes || p.Quantum != c.quantum || p.Life != c.d {
				t.Errorf("L %d, A %d, D %d; want %d, %d, %d", p.Lanes, p.Quantum, p.Life, c.lanes, c.quantum, c.d)
			}
			plan := &Plan{params: p, sizes: measure(ListUnits(c.units))}
			if got := plan.Bound(p.Lanes); got != c.boundOfRows {
				t.Errorf("bound %d, want %d", got, c.boundOfRows)
			}
			s := measure(ListUnits(c.units))
			need := int64(p.Lanes) * laneBound(p.Quantum, 1, p.laneUnit(s.rows, s.largest))
			if over := need > c.o.Buffer; over != c.boundOverR {
				t.Errorf("needs %d rows, the buffer has %d", need, c.o.Buffer)
			}
		})
	}
}

// L >= W and W divides L, whatever else is asked; D is the largest that fits.
func TestRuleProperties(t *testing.T) {
	for n := range uint64(3000) {
		r := newRNG("test", 11, n)
		units := evenUnits(int(r.below(200)), 1+int64(r.below(100_000)))
		o := Options{Buffer: int64(r.below(1 << (1 + r.below(40)))), WorldSize: 1 + int(r.below(100)), MaxWorldSize: int(r.below(200))}
		p, err := o.Params(ListUnits(units))
		if err != nil {
			t.Fatal(err)
		}
		if p.Lanes%o.WorldSize != 0 || p.Lanes < o.MaxWorldSize || p.Lanes < o.WorldSize {
			t.Errorf("%d: %d lanes for %+v", n, p.Lanes, o)
		}
		s := measure(ListUnits(units))
		unit, share := p.laneUnit(s.rows, s.largest), p.Buffer/int64(p.Lanes)
		if laneBound(p.Quantum, p.Life, unit) > share && p.Life > 1 {
			t.Errorf("%d: life %d is over the share of %d rows", n, p.Life, share)
		}
		top := min(3*(s.rows/int64(p.Lanes)+1)/p.Quantum+3, maxLife)
		if p.Life < top && laneBound(p.Quantum, p.Life+1, unit) <= share {
			t.Errorf("%d: life %d, one more fits the share of %d rows too", n, p.Life, share)
		}
	}
}

func TestBufferSize(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		name        string
		b           BufferSize
		rows, bytes int64
		largest     int64
		want        int64
	}{
		{"rows", BufferSize{Rows: 77, Bytes: 5, Memory: 1}, 1000, 1 << 40, 1, 77},
		{"bytes", BufferSize{Bytes: 1000}, 1000, 10_000, 1, 100},
		{"bytes round down", BufferSize{Bytes: 999}, 1000, 10_000, 1, 99},
		{"less than a row", BufferSize{Bytes: 1}, 1000, 10_000, 1, 1},
		{"bytes are not capped by memory", BufferSize{Bytes: 8 * gib, Memory: gib}, 1000, 16 * gib, 1, 500},
		{"a hundredth", BufferSize{}, 100_000, 100 * gib, 1, 1000},
		{"256 MiB at least", BufferSize{}, 100_000, 10 * gib, 1, 2500},
		{"2 GiB at most", BufferSize{}, 1_000_000, 1000 * gib, 1, 2000},
		{"memory", BufferSize{Memory: 512 << 20}, 100_000, 100 * gib, 1, 125},
		{"memory of all ranks", BufferSize{Memory: 512 << 20, WorldSize: 4}, 100_000, 100 * gib, 1, 500},
		{"an eighth of small data", BufferSize{}, 100_000, gib, 1, 12_500},
		{"64 MiB at least", BufferSize{}, 128 << 10, 128 << 20, 1, 64 << 10},
		{"more than the data", BufferSize{}, 100, 1000, 1, 6_710_886},
		{"four units", BufferSize{}, 500 << 10, 500 << 20, 50 << 10, 200 << 10},
		{"four units, but at most 256 MiB", BufferSize{}, 1 << 20, gib, 100 << 10, 256 << 10},
		{"four units of odd rows", BufferSize{}, 99_991, 250_000_003, 24_997, 4 * 24_997},
		{"units of more than all memory", BufferSize{}, 1 << 40, 1 << 62, 1 << 40, 512},
		{"units under memory", BufferSize{Memory: 512 << 20}, 500 << 10, 500 << 20, 50 << 10, 128 << 10},
		{"no bytes", BufferSize{Bytes: 5}, 100, 0, 1, 100},
		{"nothing", BufferSize{}, 0, 0, 1, 1},
		{"large", BufferSize{}, 1 << 40, 1 << 50, 1, 2 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.b.Resolve(c.rows, c.bytes, c.largest); got != c.want {
				t.Errorf("%d rows, want %d", got, c.want)
			}
		})
	}
}

func TestOptionsRefuse(t *testing.T) {
	for _, o := range []Options{
		{WorldSize: -1},
		{WorldSize: 1 << 20},
		{MaxWorldSize: -1},
		{MaxWorldSize: 1 << 20},
		{Lanes: -1},
		{Lanes: 1 << 20},
		{Start: "slow"},
		{Spread: -1},
		{Assign: "never"},
		{Tail: "wrap"},
		{UnitRows: -1},
	} {
		if p, err := o.Params(ListUnits(evenUnits(10, 10))); err == nil {
			t.Errorf("%+v makes %s", o, p)
		}
	}
}

// Validate names all that is wrong, not the first.
func TestParamsValidate(t *testing.T) {
	err := Params{}.Validate()
	if err == nil {
		t.Fatal("zero parameters are accepted")
	}
	for _, field := range []string{"lanes", "quantum", "life", "buffer", "start", "assign", "tail"} {
		if !strings.Contains(err.Error(), "shuffle: "+field+":") {
			t.Errorf("%s is not named in\n%v", field, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	m := manifestOf([]int64{10, 20}, []int64{30})
	units := wholeUnits(t, m, 0)
	params, err := Options{Buffer: 10}.Params(ListUnits(units))
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(u []Unit) []Unit{
		"one missing":   func(u []Unit) []Unit { return u[:2] },
		"first missing": func(u []Unit) []Unit { return u[1:] },
		"twice":         func(u []Unit) []Unit { return append(u, u[2]) },
		"unsorted":      func(u []Unit) []Unit { u[0], u[1] = u[1], u[0]; return u },
		"a hole":        func(u []Unit) []Unit { u[1].Lo = 1; return u },
		"too short":     func(u []Unit) []Unit { u[1].Hi--; return u },
		"too long":      func(u []Unit) []Unit { u[1].Hi++; return u },
		"empty":         func(u []Unit) []Unit { return append([]Unit{{}}, u...) },
		"no group":      func(u []Unit) []Unit { return append(u, Unit{Group: 3, Hi: 1, Samples: 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(m, ListUnits(spoil(append([]Unit{}, units...))), params, 0); err == nil {
				t.Errorf("%s: accepted", name)
			}
		})
	}
	if _, err := New(m, ListUnits(units), Params{}, 0); err == nil {
		t.Error("zero parameters are accepted")
	}
	if _, err := New(&Manifest{Groups: m.Groups}, ListUnits(units), params, 0); err == nil {
		t.Error("groups without shards are accepted")
	}
	if _, err := NewSequence(m, ListUnits(units[:2])); err == nil {
		t.Error("a sequence without all units is accepted")
	}
}
