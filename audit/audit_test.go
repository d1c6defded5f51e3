package audit

import (
	"encoding/json"
	"strings"
	"testing"
)

// A world divides positions [from, to) of an epoch of unit 0 among ranks, row by row.
func world(size int, from, to int64) (all []Record) {
	key := NewKey(7, 0)
	for rank := range size {
		all = append(all, Record{Epoch: 3, World: size, Rank: rank, From: from, To: to})
	}
	for p := from; p < to; p++ {
		all[p%int64(size)].Add(Sum{Rows: 1, Hash: key.At(0, p).Hash(0)})
	}
	return all
}

func TestCheck(t *testing.T) {
	epoch := Epoch{Number: 3, Rows: 12_000, To: 12_000, Due: func(from, to int64) (uint64, error) { return NewKey(7, 0).Range(0, from, to), nil }}
	first, last := world(16, 0, 4800), world(12, 4800, 12_000)
	row := func(p int64) uint64 { return NewKey(7, 0).At(0, p).Hash(0) }
	with := func(i int, by Sum, more ...Record) []Record {
		out := append(append(append([]Record(nil), first...), last...), more...)
		out[i].Add(by)
		return out
	}
	for _, c := range []struct {
		name    string
		records []Record
		want    string
	}{
		{"proved", with(0, Sum{}), "epoch 3: 12,000 rows, each exactly once, on 16 then 12 ranks"},
		{"a record of two states", with(0, Sum{}, first[3]), "epoch 3: 12,000 rows, each exactly once, on 16 then 12 ranks"},
		{"lost rows", with(20, Sum{Rows: -2, Lost: 2}), "epoch 3: 11,998 rows, each exactly once, on 16 then 12 ranks; 2 are lost"},
		{"one state", append(world(12, 4800, 12_000), first[0]), "epoch 3: 7,200 of 12,000 rows, each exactly once, on 16 then 12 ranks; not seen: positions 0 to 4,800 (1 of 16 ranks)"},
		{"no state", world(12, 4800, 12_000), "epoch 3: 7,200 of 12,000 rows, each exactly once, on 12 ranks; not seen: positions 0 to 4,800"},
		{"nothing", nil, "epoch 3: the audit has not seen all ranks; not seen: positions 0 to 12,000"},
		{"skipped", with(5, Sum{Rows: -8, Hash: -row(5)}), "rank 5 of 16 has 292 rows of positions 0 to 4,800, and its share is 300"},
		{"skipped at the end", with(20, Sum{Rows: -1, Hash: -row(4)}), "positions 4,800 to 12,000 on 12 of 12 ranks: 7,199 rows came, and the order has 7,200"},
		{"swapped", with(20, Sum{Hash: row(1) - row(4804)}), "as many rows came as the order has, but not the same"},
		{"older state", with(0, Sum{}, Record{Epoch: 3, World: 12, Rank: 3, From: 2400, To: 12_000}), "positions 2,400 to 4,800 came on both"},
		{"newer state", append(world(12, 4900, 12_000), first...), "no rank handed out positions 4,800 to 4,900"},
		{"two records", with(0, Sum{}, Record{Epoch: 3, World: 16, From: 0, To: 4800}), "rank 0 of 16 has two records of positions 0 to 4,800 that differ"},
		{"joined by some", func() []Record {
			pieces := append(world(16, 0, 2400)[15:], world(16, 2400, 4800)[15])
			all := append(with(0, Sum{})[:15], append(pieces, last...)...)
			for i := range 15 {
				all[i].Cuts = 7
			}
			return all
		}(), "epoch 3: 7,200 of 12,000 rows, each exactly once, on 16 then 12 ranks; not seen: positions 0 to 4,800 (15 of 16 ranks)"},
		{"resumed elsewhere", func() []Record {
			all := with(3, Sum{})
			all[3].Cuts = 7
			return all
		}(), "rank 2 and rank 3 of 16 resumed at different positions between 0 and 4,800"},
		{"left early", first, "no rank handed out positions 4,800 to 12,000"},
		{"beyond", with(0, Sum{}, Record{Epoch: 3, World: 1, From: 12_000, To: 12_001}), "positions 12,000 to 12,001 are beyond the epoch"},
	} {
		r, err := Check(epoch, c.records)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.String(); !strings.Contains(got, c.want) || strings.HasPrefix(c.want, "epoch") && got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
		if proved := c.name == "proved" || c.name == "a record of two states" || c.name == "lost rows"; r.Proved() != proved {
			t.Errorf("%s: proved %t", c.name, r.Proved())
		}
	}
}

func TestRecordJSON(t *testing.T) {
	records := world(3, 6, 100)
	records[1].Cuts = 1 << 63
	for _, want := range records {
		text, err := json.Marshal(want)
		var got Record
		if err != nil || json.Unmarshal(text, &got) != nil || got != want {
			t.Errorf("%s is read as %+v, want %+v", text, got, want)
		}
	}
	for text, want := range map[string]string{
		`{"world":1,"hash":"12"}`:                                    "16 hex digits",
		`{"world":1,"cuts":"1","hash":"0123456789abcdef"}`:           "cuts must be 16 hex digits",
		`{"world":2,"rank":2,"hash":"0123456789abcdef"}`:             "got 2 of 2",
		`{"world":1,"from":2,"to":1,"hash":"0123456789abcdef"}`:      "got 2 to 1",
		`{"world":1,"rows":-1,"hash":"0123456789abcdef"}`:            "must be at least 0",
		`{"world":"many","from":2,"to":1,"hash":"0123456789abcdef"}`: "world",
	} {
		var r Record
		if err := json.Unmarshal([]byte(text), &r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A range is the sum of its samples, and sums do not depend on the order.
func TestRange(t *testing.T) {
	key := NewKey(1, 2)
	var sum Sum
	for n := 99; n >= 0; n-- {
		sum.Add(Sum{Rows: 1, Hash: key.At(5, 40).Hash(uint32(n))})
	}
	if want := key.Range(5, 40, 140); sum.Hash != want || key.Range(5, 40, 90)+key.Range(5, 90, 140) != want {
		t.Errorf("%x, want %x", sum.Hash, want)
	}
	if NewKey(1, 3).Range(5, 40, 140) == sum.Hash || NewKey(2, 2).Range(5, 40, 140) == sum.Hash || key.Range(4, 40, 140) == sum.Hash {
		t.Error("other rows have the same sum")
	}
}

func BenchmarkHash(b *testing.B) {
	at, sum := NewKey(1, 0).At(0, 0), uint64(0)
	for n := range b.N {
		sum += at.Hash(uint32(n))
	}
	sink = sum
}

var sink uint64
