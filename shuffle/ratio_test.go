package shuffle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// goldenShare is a line of testdata/shares.jsonl.
type goldenShare struct {
	Weights []float64
	Whole   []int64
	Counts  []json.RawMessage
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

// Integer weights and counts are those of the specification written in Python.
func TestGoldenShares(t *testing.T) {
	all := goldenShares(t)
	if len(all) < 13 {
		t.Fatalf("%d shares", len(all))
	}
	for i, g := range all {
		r, err := NewRatio(g.Weights)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.Weights(), g.Whole) {
			t.Errorf("%v: weights %v, want %v", g.Weights, r.Weights(), g.Whole)
		}
		for _, c := range g.Counts {
			var n int64
			var want []int64
			if err := json.Unmarshal(c, &[]any{&n, &want}); err != nil {
				t.Fatal(err)
			}
			if got := r.Counts(n, nil); !slices.Equal(got, want) {
				t.Errorf("line %d: %v of the first %d, want %v", i, got, n, want)
			}
		}
	}
}

// TestGoldenFilesAreGenerated compares the files with what their generators print.
func TestGoldenFilesAreGenerated(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to run the generators")
	}
	for _, name := range []string{"shares", "mixtures"} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(python, "-B", name+".py")
			cmd.Dir = "testdata"
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if want, err := os.ReadFile("testdata/" + name + ".jsonl"); err != nil || !bytes.Equal(out, want) {
				t.Errorf("testdata/%s.py prints other lines than testdata/%s.jsonl has (%v)", name, name, err)
			}
		})
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

// Counts add up, prefixes keep to the weights, and whole periods are exact.
func TestShareProperties(t *testing.T) {
	for n := range cases(t, 200) {
		r := newRNG("test", 22, n)
		ratio := randomRatio(t, &r, 1+int(r.below(20)))
		weights := ratio.Weights()
		from := int64(r.below(1 << (1 + r.below(45))))
		seen := ratio.Counts(from, nil)
		var sum int64
		for d, c := range seen {
			sum += c
			if want := float64(from) * float64(weights[d]) / wholeWeight; from < 1<<40 && math.Abs(float64(c)-want) > 8 {
				t.Fatalf("case %d: %d of the first %d are of %d with weight %d", n, c, from, d, weights[d])
			}
		}
		if sum != from {
			t.Fatalf("case %d: %v is %d of the first %d", n, seen, sum, from)
		}
		for d, c := range ratio.Counts(from+wholeWeight, nil) {
			if c-seen[d] != weights[d] {
				t.Fatalf("case %d: a period from %d on has %d of item %d, want %d", n, from, c-seen[d], d, weights[d])
			}
		}
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
