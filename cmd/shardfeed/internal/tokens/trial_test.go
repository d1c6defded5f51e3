package tokens

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/tokenize"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func tokenizer(t *testing.T) *tokenize.Tokenizer {
	t.Helper()
	var file strings.Builder
	for b := range 256 {
		fmt.Fprintf(&file, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(b)}), b)
	}
	fmt.Fprintf(&file, "%s 256\n", base64.StdEncoding.EncodeToString([]byte("ab")))
	tok, err := tokenize.LoadTiktoken([]byte(file.String()), tokenize.Tiktoken{Pattern: "gpt2", Specials: map[string]int32{"<s>": 257}})
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func newTrial(t *testing.T, show int, of shardfeed.Tokenizer) *Trial {
	t.Helper()
	trial, err := NewTrial(tokenizer(t), of, show)
	if err != nil {
		t.Fatal(err)
	}
	return trial
}

func TestTrial(t *testing.T) {
	trial := newTrial(t, 2, shardfeed.Tokenizer{Join: []string{"text"}})
	for _, text := range []string{"abab é\n", "<s>ab", "\xff", strings.Repeat("x", 150)} {
		if err := trial.Add([][]byte{[]byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	f := trial.Figures()
	if f.Documents != 4 || f.Bytes != 8+5+150 || f.Tokens != 6+2+150 || f.WithSpecial != 1 || f.NotUTF8 != 1 || f.ByteRate <= 0 || f.CacheBytes <= 0 {
		t.Errorf("got %+v", f)
	}
	views := trial.views
	if len(views) != 2 {
		t.Fatalf("%d documents are shown, want 2", len(views))
	}
	for i, want := range []string{`ab|ab| |é|\x0a`, "<s>|ab"} {
		if got := views[i].Text(false); got != want {
			t.Errorf("document %d is %q, want %q", i, got, want)
		}
	}
	if got, want := views[1].Text(true), backgrounds[0]+black+"<s>"+reset+backgrounds[1]+black+"ab"+reset; got != want {
		t.Errorf("with colours it is %q, want %q", got, want)
	}
}

func TestLongView(t *testing.T) {
	trial := newTrial(t, 1, shardfeed.Tokenizer{Join: []string{"text"}})
	if err := trial.Add([][]byte{[]byte(strings.Repeat("x", 150))}); err != nil {
		t.Fatal(err)
	}
	if got, want := trial.views[0].Text(false), strings.Repeat("x|", 99)+"x … 50 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Columns are joined in the order of Join, whatever their order in the table, and what is trained
// is shown in other colours, or between guillemets.
func TestJoinedTrial(t *testing.T) {
	of := shardfeed.Tokenizer{Join: []string{"prompt", "completion"}, Labels: []string{"completion"}}
	trial := newTrial(t, 2, of)
	text := func(name string, rows ...string) *column.Array {
		a := &column.Array{Field: &column.Field{Name: name, Kind: column.Binary}, Len: len(rows), Offsets: []int32{0}}
		for _, row := range rows {
			a.Data = append(a.Data, row...)
			a.Offsets = append(a.Offsets, int32(len(a.Data)))
		}
		return a
	}
	if err := trial.Rows([]*column.Array{text("completion", "ab!", ""), text("prompt", "abx", "ab")}); err != nil {
		t.Fatal(err)
	}
	if f := trial.Figures(); f.Documents != 2 || f.Tokens != 5 || *f.Trained != 2 || f.Bytes != 8 {
		t.Errorf("got %+v", f)
	}
	for i, want := range []string{"ab|x«ab|!»", "ab"} {
		if got := trial.views[i].Text(false); got != want {
			t.Errorf("document %d is %q, want %q", i, got, want)
		}
	}
	want := greys[0] + black + "ab" + reset + greys[1] + black + "x" + reset + backgrounds[2] + black + "ab" + reset + backgrounds[3] + black + "!" + reset
	if got := trial.views[0].Text(true); got != want {
		t.Errorf("with colours it is %q, want %q", got, want)
	}
	for want, of := range map[string]shardfeed.Tokenizer{
		"--labels must name columns of --join": {Join: of.Join, Labels: []string{"other"}},
		"--join must name different columns":   {Join: []string{"a", "a"}},
		"Specials":                             {Join: of.Join, Specials: "none"},
	} {
		if _, err := NewTrial(tokenizer(t), of, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want %q", err, want)
		}
	}
}
