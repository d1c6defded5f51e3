package tokenize

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/tokenize/internal/cut"
)

// tekken is a file of Mistral's Tekken. Special tokens have the lowest ids, and are never found in
// text.
type tekken struct {
	Config struct {
		Pattern  string `json:"pattern"`
		Size     int    `json:"default_vocab_size"`
		Specials int    `json:"default_num_special_tokens"`
	} `json:"config"`
	Vocab []struct {
		Rank  int    `json:"rank"`
		Bytes []byte `json:"token_bytes"`
	} `json:"vocab"`
	Specials []struct {
		Rank int    `json:"rank"`
		Text string `json:"token_str"`
	} `json:"special_tokens"`
}

// firstTekken are the special tokens of a file without a list.
var firstTekken = []string{
	"<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
	"[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]",
	"[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
}

// newTekken reads a file of Tekken.
func newTekken(data []byte) (*Tokenizer, error) {
	var f tekken
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	p, ok := cut.Find(f.Config.Pattern)
	if !ok || !p.Covers {
		return nil, unsupported("config", "its pattern is %q", f.Config.Pattern)
	}
	size := f.Config.Size - f.Config.Specials
	if f.Config.Specials < 0 || size < 0 || size > len(f.Vocab) || f.Config.Specials > 1<<16 {
		return nil, fmt.Errorf("config has %d tokens, %d of them special, and the vocabulary has %d", f.Config.Size, f.Config.Specials, len(f.Vocab))
	}
	r := ranks{}
	for _, t := range f.Vocab {
		if t.Rank < 0 || t.Rank >= len(f.Vocab) || len(t.Bytes) == 0 {
			return nil, fmt.Errorf("the token %q has the rank %d", t.Bytes, t.Rank)
		}
		if t.Rank < size {
			r[string(t.Bytes)] = int32(t.Rank)
		}
	}
	if len(r) != size {
		return nil, fmt.Errorf("%d tokens have a rank below %d", len(r), size)
	}
	specials, err := f.specials()
	if err != nil {
		return nil, err
	}
	return newRanked(r, int32(f.Config.Specials), p.Cutter, specials, false)
}

// specials returns the special tokens. Those without a text have one made of their id.
func (f *tekken) specials() (map[string]int32, error) {
	texts := make([]string, f.Config.Specials)
	for i := range texts {
		texts[i] = fmt.Sprintf("<SPECIAL_%d>", i)
	}
	if f.Specials == nil {
		copy(texts, firstTekken)
	}
	for _, s := range f.Specials {
		if s.Rank < 0 || s.Rank >= len(texts) {
			return nil, fmt.Errorf("the special token %q has the rank %d", s.Text, s.Rank)
		}
		texts[s.Rank] = s.Text
	}
	specials := make(map[string]int32, len(texts))
	for i, text := range texts {
		specials[text] = int32(i)
	}
	if len(specials) != len(texts) {
		return nil, errors.New("two special tokens have the same text")
	}
	return specials, nil
}
