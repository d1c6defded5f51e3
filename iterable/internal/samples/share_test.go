package samples

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
)

// carry copies what a node has counted to another.
func carry(t *testing.T, from, to string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(from, ownCounts, "*"+countSuffix))
	if err == nil {
		err = os.MkdirAll(filepath.Join(to, theirCounts), 0o700)
	}
	for _, f := range files {
		var b []byte
		if b, err = os.ReadFile(f); err != nil {
			break
		}
		name := filepath.Join(to, theirCounts, filepath.Base(from)+filepath.Base(f))
		if err = os.WriteFile(name+".new", b, 0o600); err == nil {
			err = os.Rename(name+".new", name)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// shareOf counts as a node of two.
func shareOf(ctx context.Context, d *Data, dir string, number int, counted func(done, of int64)) ([]shuffle.Unit, Totals, error) {
	units := halves(d)
	totals, err := d.Count(ctx, units, Counting{
		Identity: func(uri string) string { return uri }, Counted: counted, every: 1, Share: Share{Dir: dir, Number: number, Of: 2},
		Unusable: func(err error) { panic(err) },
	})
	return units, totals, err
}

// sharedRules are rules that nodes count together: packings and buckets of titles, of all rows and
// of rows that a filter, parts and a sample choose before.
func sharedRules() map[string]Options {
	pack := func(strategy rule.PackStrategy) *Pack {
		return &Pack{Pack: rule.Pack{Columns: map[string]int{"title": 64}, Strategy: strategy}}
	}
	train := rule.Split{Parts: map[string]float64{"train": 0.6, "val": 0.4}, Part: "train", Seed: 5}
	byKey := train
	byKey.Key, byKey.Subsample = "label", 0.7
	return map[string]Options{
		"all rows":                   {Pack: pack(rule.Wrapped)},
		"a filter":                   {Choice: Choice{Filters: "price > 5"}, Pack: pack(rule.Wrapped)},
		"a filter of the texts":      {Choice: Choice{Filters: "title like '%s%'"}, Pack: pack(rule.Wrapped)},
		"a part":                     {Choice: Choice{Split: train}, Pack: pack(rule.BestFit)},
		"a filter and a part":        {Choice: Choice{Filters: "price > 5", Split: train}, Pack: pack(rule.BestFitSplit)},
		"a filter and a part by key": {Choice: Choice{Filters: "price > 5", Split: byKey}, Pack: pack(rule.Wrapped)},
		"buckets of a part":          {Choice: Choice{Filters: "price > 5", Split: train}, Bucket: &rule.Bucket{Columns: map[string]int{"title": 512}}},
	}
}

// eachSharedRule runs a test for each rule, with what one node counts alone.
func eachSharedRule(t *testing.T, test func(t *testing.T, d *Data, want []shuffle.Unit, whole Totals)) {
	t.Helper()
	for name, o := range sharedRules() {
		t.Run(name, func(t *testing.T) {
			d := openTitlesOf(t, o)
			want, whole, err := shareOf(t.Context(), d, t.TempDir(), 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			test(t, d, want, whole)
		})
	}
}

// A node that ends while it counts leaves what it has counted to the other, which counts the rest:
// each text is counted once. A node that comes when all is counted reads nothing.
func TestSharesOfNodesThatEndOrAreLate(t *testing.T) {
	eachSharedRule(t, func(t *testing.T, d *Data, want []shuffle.Unit, whole Totals) {
		first, second, late := t.TempDir(), t.TempDir(), t.TempDir()
		ctx, end := context.WithCancel(t.Context())
		_, part, err := shareOf(ctx, d, first, 0, func(done, of int64) {
			if 4*done >= of {
				end()
			}
		})
		if !errors.Is(err, context.Canceled) || part.Work.Bytes == 0 {
			t.Fatalf("%+v, %v", part.Work, err)
		}
		carry(t, first, second)
		units, totals, err := shareOf(t.Context(), d, second, 1, nil)
		if err != nil || !slices.Equal(units, want) || *totals.Texts != *whole.Texts {
			t.Errorf("the second node found %+v, %v; want %+v", totals.Texts, err, whole.Texts)
		}
		if part.Work.Bytes+totals.Work.Bytes != whole.Work.Bytes {
			t.Errorf("the first node counted %d bytes, the second %d, want %d together", part.Work.Bytes, totals.Work.Bytes, whole.Work.Bytes)
		}
		carry(t, first, late)
		carry(t, second, late)
		units, totals, err = shareOf(t.Context(), d, late, 0, nil)
		if err != nil || !slices.Equal(units, want) || *totals.Texts != *whole.Texts || totals.Work.Bytes != 0 {
			t.Errorf("the late node found %+v with %+v, %v", totals.Texts, totals.Work, err)
		}
	})
}

// Nodes that count at the same time find the same, and each counts less than everything.
func TestSharesAtTheSameTime(t *testing.T) {
	eachSharedRule(t, func(t *testing.T, d *Data, want []shuffle.Unit, whole Totals) {
		dirs := []string{t.TempDir(), t.TempDir()}
		var half, nodes sync.WaitGroup
		half.Add(len(dirs))
		for n, dir := range dirs {
			nodes.Go(func() {
				var once sync.Once
				units, totals, err := shareOf(t.Context(), d, dir, n, func(done, of int64) {
					if 3*done < of {
						return
					}
					once.Do(func() { // what both have so far reaches the other
						half.Done()
						half.Wait()
						carry(t, dirs[1-n], dir)
					})
				})
				if err != nil || !slices.Equal(units, want) || *totals.Texts != *whole.Texts || totals.Work.Bytes >= whole.Work.Bytes {
					t.Errorf("node %d found %+v with %+v, %v; want %+v with less than %+v", n, totals.Texts, totals.Work, err, whole.Texts, whole.Work)
				}
			})
		}
		nodes.Wait()
	})
}

// Each row group has a place in the order of each node.
func TestShareOrder(t *testing.T) {
	for all := range 12 {
		for of := range 5 {
			for number := range of {
				var groups []int
				for i := range all {
					groups = append(groups, Share{Number: number, Of: of}.group(i, all))
				}
				slices.Sort(groups)
				for i, g := range groups {
					if g != i {
						t.Fatalf("node %d of %d counts %v", number, of, groups)
					}
				}
			}
		}
	}
}
