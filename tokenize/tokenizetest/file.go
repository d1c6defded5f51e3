// Package tokenizetest makes a small tokenizer.json for tests.
package tokenizetest

import (
	"encoding/json"
	"fmt"
)

// Special is the special token of File, whose id is the last.
const Special = "<|end|>"

// File returns the tokenizer.json of a byte-level BPE: a token for each byte, a token for each of
// the merges, which are pairs of tokens such as "t h", and Special. Its template adds Special before
// each text.
func File(merges ...string) []byte {
	vocab := map[string]int{}
	for b := range 256 {
		vocab[letter(b)] = b
	}
	for _, m := range merges {
		var left, right string
		if _, err := fmt.Sscan(m, &left, &right); err != nil {
			panic(err)
		}
		vocab[left+right] = len(vocab)
	}
	id := len(vocab)
	b, err := json.Marshal(map[string]any{
		"added_tokens":  []any{map[string]any{"id": id, "content": Special, "special": true, "normalized": false, "lstrip": false, "rstrip": false, "single_word": false}},
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
		"post_processor": map[string]any{
			"type":           "TemplateProcessing",
			"single":         []any{map[string]any{"SpecialToken": map[string]any{"id": Special, "type_id": 0}}, map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}}},
			"pair":           []any{map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}}, map[string]any{"Sequence": map[string]any{"id": "B", "type_id": 1}}},
			"special_tokens": map[string]any{Special: map[string]any{"id": Special, "ids": []int{id}, "tokens": []string{Special}}},
		},
		"model": map[string]any{"type": "BPE", "vocab": vocab, "merges": merges},
	})
	if err != nil {
		panic(err)
	}
	return b
}

// letter returns the character for a byte in such a file.
func letter(b int) string {
	next := 0x100
	for c := range 256 {
		printable := c >= '!' && c <= '~' || c >= 0xa1 && c <= 0xac || c >= 0xae
		switch {
		case c == b && printable:
			return string(rune(c))
		case c == b:
			return string(rune(next))
		case !printable:
			next++
		}
	}
	return ""
}
