package tokens

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

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

func TestTrial(t *testing.T) {
	trial := NewTrial(tokenizer(t), 2)
	for _, text := range []string{"abab é\n", "<s>ab", "\xff", strings.Repeat("x", 150)} {
		if err := trial.Add([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	f := trial.Figures()
	if f.Documents != 4 || f.Bytes != 8+5+150 || f.Tokens != 6+2+150 || f.WithSpecial != 1 || f.NotUTF8 != 1 || f.ByteRate <= 0 || f.CacheBytes <= 0 {
		t.Errorf("got %+v", f)
	}
	views := trial.Views()
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
	trial := NewTrial(tokenizer(t), 1)
	if err := trial.Add([]byte(strings.Repeat("x", 150))); err != nil {
		t.Fatal(err)
	}
	if got, want := trial.Views()[0].Text(false), strings.Repeat("x|", 99)+"x … 50 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
