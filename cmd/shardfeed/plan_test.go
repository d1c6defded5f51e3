package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// What plan foretells is what a run needs: bench is admitted with exactly that memory, and refused
// with a byte less.
func TestPlanForetellsMemory(t *testing.T) {
	for _, order := range [][]string{nil, {"--shuffle", "--shuffle-buffer", "300"}} {
		flags := append([]string{shop, "--batch-size", "32", "--world-size", "2", "--json"}, order...)
		code, stdout, stderr := command(t, append([]string{"plan"}, flags...)...)
		if code != 0 {
			t.Fatalf("exit %d, %s", code, stderr)
		}
		var p plan
		if err := json.Unmarshal([]byte(stdout), &p); err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, bytes := range p.Bound {
			sum += bytes
		}
		if sum != p.BoundTotal || p.Bound["batch"] == 0 {
			t.Errorf("purposes sum up to %d, want %d; %v", sum, p.BoundTotal, p.Bound)
		}
		bench := func(memory int64) (int, string) {
			code, _, stderr := command(t, append([]string{"bench", "--memory", fmt.Sprint(memory)}, flags...)...)
			return code, stderr
		}
		if code, stderr := bench(p.BoundTotal); code != 0 {
			t.Errorf("%v: refused with the memory that the plan says: %s", order, stderr)
		}
		if code, stderr := bench(p.BoundTotal - 1); code != exitFailed || !strings.Contains(stderr, "memory: ") {
			t.Errorf("%v: exit %d with less memory: %s", order, code, stderr)
		}
	}
}

// A plan that counts the tokens of much text predicts how long that takes.
func TestPlanPredictsCounting(t *testing.T) {
	type row struct {
		Text string `parquet:"text"`
	}
	table := filepath.Join(t.TempDir(), "texts.parquet")
	text := strings.Repeat("the cat sat on the mat. ", 4000)
	if err := parquet.WriteFile(table, slices.Repeat([]row{{text}}, 30*cores.Number())); err != nil {
		t.Fatal(err)
	}
	args := []string{"plan", table, "--tokenize", "text=testdata/tokenizer.json", "--pack", "text=512"}
	if code, _, stderr := command(t, args...); code != 0 || !regexp.MustCompile(`counting the tokens of [0-9.]+ MiB of text, at [0-9]+ MB/s on each of [0-9]+ processors, takes about [0-9.]+m?s`).MatchString(stderr) {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
	if code, _, stderr := command(t, args...); code != 0 || stderr != "" {
		t.Errorf("with kept counts: exit %d, stderr %q", code, stderr)
	}
	var p iterable.Plan
	code, stdout, _ := command(t, append(args, "--where", "text is not null", "--json")...)
	if err := json.Unmarshal([]byte(stdout), &p); err != nil || code != 0 {
		t.Fatal(code, err)
	}
	if of := p.Tokenizing[0]; of.PredictedBytes < of.FileBytes/2 || of.PredictedSeconds <= 0 || of.WorkBytes < of.PredictedBytes/2 {
		t.Errorf("the plan predicted %d bytes in %v s, and counted %d of %d", of.PredictedBytes, of.PredictedSeconds, of.WorkBytes, of.FileBytes)
	}
}

func TestMixingMeaning(t *testing.T) {
	cases := []struct {
		k    float64
		want string
	}{
		{1e6, "The shuffle buffer holds all rows"},
		{1000, "At least as many"},
		{999, "Enough for data that is mixed"},
		{250, "Enough for data that is mixed"},
		{249, "Few independent units"},
		{0, "Few independent units"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.k), func(t *testing.T) {
			p := &iterable.Plan{PlanTable: iterable.PlanTable{Rows: 1e6}, PlanSteps: iterable.PlanSteps{GlobalBatch: 1000}, Quality: shuffle.Quality{Independent: c.k}}
			if got := mixingMeaning(p); !strings.HasPrefix(got, c.want) {
				t.Errorf("K = %v: %s", c.k, got)
			}
		})
	}
}
