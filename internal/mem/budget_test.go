package mem

import (
	"errors"
	"testing"
)

func TestReserveAdmitsOrRefuses(t *testing.T) {
	tests := []struct {
		name          string
		limit, memory int64
		before, need  Amounts
		wantErr       string // "" = admitted
		wantShared    bool
	}{
		{name: "no limits", need: Amounts{Shuffle: 1 << 50}},
		{name: "exactly the stream's limit", memory: 30, need: Amounts{Fetch: 10, Shuffle: 20}},
		{
			name: "one byte over the stream's limit", memory: 29, need: Amounts{Fetch: 10, Shuffle: 20},
			wantErr: "needs 30 B of memory (fetch 10 B, shuffle 20 B), more than its limit of 29 B",
		},
		{name: "exactly what is left", limit: 100, before: Amounts{Batch: 70}, need: Amounts{Decode: 30}},
		{
			name: "one byte more than is left", limit: 100, before: Amounts{Batch: 70}, need: Amounts{Decode: 31},
			wantErr: "needs 31 B of memory (decode 31 B), but only 30 B of 100 B are left for all streams", wantShared: true,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := NewBudget(test.limit)
			if _, err := b.Reserve(0, test.before); err != nil {
				t.Fatal(err)
			}
			a, err := b.Reserve(test.memory, test.need)
			if test.wantErr == "" {
				if err != nil {
					t.Fatal(err)
				}
				if got := b.Admitted(); got != test.before.Total()+test.need.Total() {
					t.Errorf("admitted %d", got)
				}
				a.Close()
				a.Close()
				if got := b.Admitted(); got != test.before.Total() {
					t.Errorf("admitted %d after Close", got)
				}
				return
			}
			var over *OverLimit
			if !errors.As(err, &over) || err.Error() != test.wantErr || over.Shared != test.wantShared {
				t.Errorf("error %v, want %s", err, test.wantErr)
			}
			if got := b.Admitted(); got != test.before.Total() {
				t.Errorf("a refused reservation left %d bytes admitted", got)
			}
		})
	}
}

func TestBytesString(t *testing.T) {
	for n, want := range map[Bytes]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1 << 20: "1.0 MiB", 1<<20 - 1: "1.0 MiB",
		3 << 29: "1.5 GiB", -2048: "-2.0 KiB", 1 << 62: "4.0 EiB",
	} {
		if got := n.String(); got != want {
			t.Errorf("%d: %s, want %s", int64(n), got, want)
		}
	}
}

// A reservation that does not fit takes accounts on offer, as many as it needs, before it fails.
func TestReserveTakesOffers(t *testing.T) {
	b := NewBudget(100)
	var taken []string
	offer := func(name string, n int64) *Account {
		t.Helper()
		a, err := b.Reserve(0, Amounts{Store: n})
		if err != nil {
			t.Fatal(err)
		}
		b.Offer(a, func() {
			taken = append(taken, name)
			a.Close()
		})
		return a
	}
	first := offer("first", 30)
	offer("second", 30)
	kept := offer("kept", 10)
	if _, err := b.Reserve(0, Amounts{Fetch: 30}); err != nil || len(taken) != 0 {
		t.Fatalf("%v, %v taken where there was room", err, taken)
	}
	if !b.Withdraw(kept) || b.Withdraw(kept) {
		t.Fatal("an offer can be withdrawn once")
	}
	if _, err := b.Reserve(0, Amounts{Fetch: 60}); err != nil || len(taken) != 2 {
		t.Fatalf("%v, %v taken of two that were needed", err, taken)
	}
	if b.Withdraw(first) {
		t.Error("an account that was taken is withdrawn")
	}
	if got := b.Admitted(); got != 100 {
		t.Errorf("admitted %d", got)
	}
	var over *OverLimit
	if _, err := b.Reserve(0, Amounts{Fetch: 1}); !errors.As(err, &over) {
		t.Errorf("%v", err)
	}
	offered := offer("none", 0)
	if _, err := b.Reserve(5, Amounts{Fetch: 6}); !errors.As(err, &over) || over.Shared || !b.Withdraw(offered) {
		t.Errorf("%v: what is over the stream's own limit takes no offers", err)
	}
}

func TestPurposes(t *testing.T) {
	b := NewBudget(100)
	first, err := b.Reserve(0, Amounts{Fetch: 10, Ring: 5})
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.Reserve(0, Amounts{Fetch: 20})
	if err != nil {
		t.Fatal(err)
	}
	first.Charge(Ring, 4)
	second.Charge(Fetch, 7)
	if r, u := b.Purposes(); r != (Amounts{Fetch: 30, Ring: 5}) || u != (Amounts{Fetch: 7, Ring: 4}) {
		t.Errorf("reserved %v, used %v", r, u)
	}
	first.Close()
	if r, u := b.Purposes(); r != (Amounts{Fetch: 20}) || u != (Amounts{Fetch: 7}) {
		t.Errorf("after one closed: reserved %v, used %v", r, u)
	}
	second.Close()
	second.Close()
	if r, u := b.Purposes(); r != (Amounts{}) || u != (Amounts{}) {
		t.Errorf("after both closed: reserved %v, used %v", r, u)
	}
}
