package samples

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/iterable/internal/transform"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/tokenize"
	"github.com/shardfeed/shardfeed/tokenize/tokenizetest"
)

// openTitles opens the shop with a packing of the tokens of its titles.
func openTitles(t *testing.T, filters string) *Data {
	t.Helper()
	return openTitlesOf(t, Options{Choice: Choice{Filters: filters}, Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"title": 64}}}})
}

// openTitlesOf is openTitles with any rule that packs the titles.
func openTitlesOf(t *testing.T, o Options) *Data {
	t.Helper()
	tok, err := tokenize.Load(tokenizetest.File("t h", "e r"))
	if err != nil {
		t.Fatal(err)
	}
	d := openShop(t, o, transform.Options{Tokenize: map[string]transform.Tokenizer{"title": {Tokenizer: tok}}})
	d.Rules.Pack.Known = &LengthStore{}
	return d
}

// halves returns two units of each row group.
func halves(d *Data) (units []shuffle.Unit) {
	for g, group := range d.List.Groups {
		units = append(units, shuffle.Unit{Group: g, Hi: group.Rows / 2}, shuffle.Unit{Group: g, Lo: group.Rows / 2, Hi: group.Rows})
	}
	return units
}

// Texts are counted with their blocks, and found again by the next start.
func TestTextsAreKept(t *testing.T) {
	d, dir := openTitles(t, "price > 20"), t.TempDir()
	count := func() (Totals, int) {
		estimates := 0
		totals, err := d.Count(t.Context(), halves(d), Counting{
			IndexDir: dir, Identity: func(uri string) string { return uri }, measure: 1,
			Estimated: func(e TextEstimate) {
				estimates++
				if e.Bytes < 1000 || e.Speed <= 0 || e.Took() <= 0 {
					t.Errorf("the estimate is %v", e)
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return totals, estimates
	}
	first, estimates := count()
	texts := first.Texts
	if texts == nil || texts.Documents == 0 || texts.Bytes < texts.Documents || texts.Tokens < texts.Bytes/2 || first.Work.Bytes == 0 || estimates != 1 {
		t.Fatalf("the first start counted %+v in %+v, with %d estimates", texts, first.Work, estimates)
	}
	second, estimates := count()
	if second.Read || second.Texts == nil || *second.Texts != *texts || estimates != 0 {
		t.Errorf("the second start found %+v, want %+v; it read %t", second.Texts, texts, second.Read)
	}
}

// killedIn names the directory of counts to the process that TestCountAfterAKill kills.
const killedIn = "SAMPLES_TEST_KILLED_IN"

// A process that is killed while it counts tokens leaves counts. The next start counts the rest,
// and finds what a start alone finds.
func TestCountAfterAKill(t *testing.T) {
	d := openTitles(t, "price > 5")
	identity := func(uri string) string { return uri }
	if dir := os.Getenv(killedIn); dir != "" {
		_, _ = d.Count(t.Context(), halves(d), Counting{IndexDir: dir, Identity: identity, every: 1, Counted: func(done, of int64) {
			if 2*done >= of {
				_, _ = os.Stdout.WriteString("half\n")
				select {} // until the kill
			}
		}})
		return
	}
	dir := t.TempDir()
	killed := exec.Command(os.Args[0], "-test.run=^TestCountAfterAKill$")
	killed.Env = append(os.Environ(), killedIn+"="+dir)
	out, err := killed.StdoutPipe()
	if err == nil {
		err = killed.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "half\n" {
		t.Errorf("it printed %q, %v", line, err)
	}
	_ = killed.Process.Kill()
	_ = killed.Wait()

	count := func(dir string) (all []shuffle.Unit, totals Totals, first int64) {
		first = -1
		all = halves(d)
		totals, err := d.Count(t.Context(), all, Counting{IndexDir: dir, Identity: identity, Counted: func(done, _ int64) {
			if first < 0 {
				first = done
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		return all, totals, first
	}
	units, totals, known := count(dir)
	alone, whole, _ := count(t.TempDir())
	if known < 1 || known >= int64(len(d.List.Groups)) || totals.Work.Bytes >= whole.Work.Bytes || !totals.Read {
		t.Errorf("%d row groups were kept of %d; %+v after %+v", known, len(d.List.Groups), totals.Work, whole.Work)
	}
	if !slices.Equal(units, alone) || *totals.Texts != *whole.Texts {
		t.Errorf("it found %+v, want %+v", totals.Texts, whole.Texts)
	}
}
