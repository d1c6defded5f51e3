package shuffle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"slices"
	"sort"
	"strings"
	"testing"
)

// goldenShare is a line of testdata/shares.jsonl.
type goldenShare struct {
	Weights []float64
	Whole   []int64
	Seed    uint64
	Lanes   int
	Slot    int
	Counts  []json.RawMessage
	First   []int
}

func (g goldenShare) lane(t *testing.T) (*Ratio, laneMix) {
	t.Helper()
	r, err := NewRatio(g.Weights)
	if err != nil {
		t.Fatal(err)
	}
	if g.Lanes == 0 {
		return r, laneMix{levels: r.levels}
	}
	return r, r.over(g.Lanes, g.Seed).lane(g.Slot)
}

func goldenShares(t *testing.T) (all []goldenShare) {
	t.Helper()
	data, err := os.ReadFile("testdata/shares.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		var g goldenShare
		if err := json.Unmarshal(s.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	return all
}

// Integer weights, counts and the order of items are those of the specification written in Python.
func TestGoldenShares(t *testing.T) {
	all := goldenShares(t)
	if len(all) < 60 {
		t.Fatalf("%d shares", len(all))
	}
	for i, g := range all {
		r, l := g.lane(t)
		if !slices.Equal(r.Weights(), g.Whole) {
			t.Errorf("%v: weights %v, want %v", g.Weights, r.Weights(), g.Whole)
		}
		for _, c := range g.Counts {
			var n int64
			var want []int64
			if err := json.Unmarshal(c, &[]any{&n, &want}); err != nil {
				t.Fatal(err)
			}
			if got := l.counts(n, nil, len(want)); !slices.Equal(got, want) {
				t.Errorf("line %d: %v of the first %d, want %v", i, got, n, want)
			}
			if got := r.Counts(n, nil); g.Lanes == 0 && !slices.Equal(got, want) {
				t.Errorf("line %d: Counts has %v of the first %d, want %v", i, got, n, want)
			}
		}
		walk := l.walk(0)
		for n, want := range g.First {
			if got := walk.next(); got != want {
				t.Fatalf("line %d: sample %d is of %d, want %d", i, n, got, want)
			}
		}
	}
}

// The file of golden shares is what its generator prints.
func TestGoldenSharesAreGenerated(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to run the generator")
	}
	cmd := exec.Command(python, "-B", "shares.py")
	cmd.Dir = "testdata"
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/shares.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out, want) {
		t.Error("testdata/shares.py prints other lines than testdata/shares.jsonl has")
	}
}

func randomRatio(t *testing.T, r *rng, items int) *Ratio {
	t.Helper()
	weights := make([]float64, items)
	for i := range weights {
		weights[i] = float64(r.below(1000))
	}
	weights[r.below(uint64(items))] = 1
	ratio, err := NewRatio(weights)
	if err != nil {
		t.Fatal(err)
	}
	return ratio
}

// Counts add up, the walk from anywhere is the seek, least undoes the counts, prefixes keep to the
// weights, and whole periods are exact.
func TestShareProperties(t *testing.T) {
	for n := range cases(t, 200) {
		r := newRNG("test", 22, n)
		ratio := randomRatio(t, &r, 1+int(r.below(20)))
		lanes := 1 + int(r.below(64))
		l := ratio.over(lanes, n).lane(int(r.below(uint64(lanes))))
		weights, items := ratio.Weights(), len(ratio.Weights())
		from := int64(r.below(1 << (1 + r.below(45))))
		seen := l.counts(from, nil, items)
		walk := l.walk(from)
		for k := from; k < from+300; k++ {
			var sum int64
			for d, c := range seen {
				sum += c
				if want := float64(k) * float64(weights[d]) / wholeWeight; from < 1<<40 && math.Abs(float64(c)-want) > 4 {
					t.Fatalf("case %d: %d of the first %d are of %d with weight %d", n, c, k, d, weights[d])
				}
			}
			if sum != k {
				t.Fatalf("case %d: %v is %d of the first %d", n, seen, sum, k)
			}
			d := walk.next()
			if got := l.least(d, seen[d]); got != k+1 {
				t.Fatalf("case %d: item %d has more than %d of the first %d, least says %d", n, d, seen[d], k+1, got)
			}
			seen[d]++
			if k%50 == 0 && !slices.Equal(l.counts(k+1, nil, items), seen) {
				t.Fatalf("case %d: the walk has %v of the first %d, the seek %v", n, seen, k+1, l.counts(k+1, nil, items))
			}
		}
		period := l.counts(from+wholeWeight, nil, items)
		for d, c := range l.counts(from, nil, items) {
			if period[d]-c != weights[d] {
				t.Fatalf("case %d: a period from %d on has %d of item %d, want %d", n, from, period[d]-c, d, weights[d])
			}
		}
	}
}

// least is what a bisection over the counts finds, also for items that are rare, and it never
// overflows.
func TestLeastIsTheBisection(t *testing.T) {
	for n := range cases(t, 300) {
		r := newRNG("test", 23, n)
		ratio := randomRatio(t, &r, 1+int(r.below(12)))
		if n%3 == 0 { // floors without remainders
			var err error
			if ratio, err = NewRatio([]float64{4, 2, 1, 1}); err != nil {
				t.Fatal(err)
			}
		}
		l := ratio.over(8, n).lane(int(r.below(8)))
		for _, v := range ratio.levels {
			a := int64(r.below(1 << (1 + r.below(30))))
			want := int64(sort.Search(1<<60, func(k int) bool { return l.counts(int64(k), nil, len(ratio.Weights()))[v.item] > a }))
			if got := l.least(v.item, a); got != want {
				t.Fatalf("case %d: least(%d, %d) is %d, want %d", n, v.item, a, got, want)
			}
			if got := l.least(v.item, 1<<62); got < 1<<62 {
				t.Fatalf("case %d: least(%d, 2^62) is %d", n, v.item, got)
			}
		}
	}
}

// All lanes together keep the ratio at every position, closer than lanes with one phase would.
func TestLanesKeepTheRatioTogether(t *testing.T) {
	ratio, err := NewRatio([]float64{50, 30, 15, 4, 1})
	if err != nil {
		t.Fatal(err)
	}
	const lanes = 64
	m := ratio.over(lanes, 7)
	walks := make([]mixWalk, lanes)
	for slot := range walks {
		walks[slot] = m.lane(slot).walk(0)
	}
	seen := make([]int64, 5)
	var worst float64
	for p := range 50_000 {
		seen[walks[p%lanes].next()]++
		for d, c := range seen {
			worst = max(worst, math.Abs(float64(c)-float64(p+1)*float64(ratio.Weights()[d])/wholeWeight))
		}
	}
	t.Logf("the worst prefix is off by %.1f samples", worst)
	if worst > 12 {
		t.Errorf("a prefix of all lanes is off by %.1f samples", worst)
	}
}

func TestRatioRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		weights []float64
		says    string
	}{
		{"none", nil, "one above 0"},
		{"zeros", []float64{0, 0}, "one above 0"},
		{"negative", []float64{1, -1}, "got -1 for weight 1"},
		{"not a number", []float64{math.NaN()}, "got NaN for weight 0"},
		{"infinite", []float64{1, math.Inf(1)}, "got +Inf for weight 1"},
		{"too many", make([]float64, maxWeights+1), "at most 4096, got 4097"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r, err := NewRatio(c.weights); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, %v", r, err)
			}
		})
	}
}

// Weights are taken as the decimals that they are written as, at any scale.
func TestWeightsAreDecimals(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []float64
	}{
		{"scale", []float64{7, 2, 1}, []float64{0.7, 0.2, 0.1}},
		{"large", []float64{1e300, 3e300}, []float64{1, 3}},
		{"small", []float64{5e-324, 5e-324}, []float64{1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := NewRatio(c.a)
			if err != nil {
				t.Fatal(err)
			}
			b, err := NewRatio(c.b)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(a.Weights(), b.Weights()) {
				t.Errorf("%v, %v", a.Weights(), b.Weights())
			}
		})
	}
}
