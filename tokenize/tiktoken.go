package tokenize

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/tokenize/internal/cut"
)

// Tiktoken completes a file of tiktoken, which has only the tokens and their ranks.
type Tiktoken struct {
	// Pattern is the name of an encoding or a family of models, such as "cl100k_base",
	// "o200k_base", "llama3", "qwen" or "kimi", or the regular expression of a tiktoken.Encoding.
	Pattern string
	// Specials are special tokens and their ids. nil takes them from the encoding that Pattern
	// names, if it is one of OpenAI's and the file has as many tokens.
	Specials map[string]int32
}

// Patterns lists the names of patterns.
func Patterns() []string { return cut.Names() }

// encodings have the number of ranks and the special tokens of OpenAI's encodings.
var encodings = map[string]struct {
	ranks    int
	specials map[string]int32
}{
	"gpt2":      {50256, map[string]int32{"<|endoftext|>": 50256}},
	"r50k_base": {50256, map[string]int32{"<|endoftext|>": 50256}},
	"p50k_base": {50280, map[string]int32{"<|endoftext|>": 50256}},
	"cl100k_base": {100256, map[string]int32{
		"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276,
	}},
	"o200k_base": {199998, map[string]int32{"<|endoftext|>": 199999, "<|endofprompt|>": 200018}},
}

// LoadTiktoken reads a file of tiktoken: in each line a token in base64, and its rank.
func LoadTiktoken(data []byte, o Tiktoken) (*Tokenizer, error) {
	c, ok := cut.Named(o.Pattern)
	if !ok {
		return nil, &UnsupportedError{Part: "tiktoken", What: fmt.Sprintf(
			"the pattern is %q, known ones are %s", o.Pattern, strings.Join(cut.Names(), ", "))}
	}
	r, err := readRanks(data)
	if err != nil {
		return nil, fmt.Errorf("tiktoken: %w", err)
	}
	if of := encodings[o.Pattern]; o.Specials == nil && len(r) == of.ranks {
		o.Specials = of.specials
	}
	t, err := newRanked(r, 0, c, o.Specials, true)
	if err != nil {
		return nil, fmt.Errorf("tiktoken: %w", err)
	}
	t.digest = digest(data, fmt.Appendf(nil, "%T %+v", c, c), specialsText(o.Specials))
	return t, nil
}

func readRanks(data []byte) (ranks, error) {
	r, line := ranks{}, 0
	for text := range bytes.Lines(data) {
		line++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		token, rank, _ := bytes.Cut(text, []byte(" "))
		b, err := base64.StdEncoding.DecodeString(string(token))
		if err != nil || len(b) == 0 {
			return nil, fmt.Errorf("line %d does not start with a token in base64", line)
		}
		n, err := strconv.ParseInt(string(rank), 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("line %d does not end with a rank", line)
		}
		if _, ok := r[string(b)]; ok {
			return nil, fmt.Errorf("line %d has the token of an earlier line", line)
		}
		r[string(b)] = int32(n)
	}
	return r, nil
}

// specialsText returns a text that determines special tokens.
func specialsText(specials map[string]int32) []byte {
	var b []byte
	for _, text := range slices.Sorted(maps.Keys(specials)) {
		b = fmt.Appendf(b, "%q %d\n", text, specials[text])
	}
	return b
}
