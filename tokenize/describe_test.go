package tokenize

import (
	"slices"
	"testing"
)

func TestParts(t *testing.T) {
	f := byteLevel(fields{
		"normalizer": fields{"type": "NFC"},
		"pre_tokenizer": fields{"type": "Sequence", "pretokenizers": []fields{
			{"type": "Split", "pattern": fields{"Regex": `\p{N}`}, "behavior": "Isolated", "invert": false},
			{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
		}},
	})
	want := []string{"normalizer: NFC", `pre_tokenizer 1: Split \p{N}`, "pre_tokenizer 2: ByteLevel", "model: BPE", "added_tokens: 2"}
	if got := mustLoad(t, f).Parts(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPiece: the pieces of a text's tokens are the text.
func TestPiece(t *testing.T) {
	metaspace := fields{"pre_tokenizer": fields{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"}}
	for _, f := range []fields{byteLevel(nil), sentencePiece(metaspace)} {
		tokenizer := mustLoad(t, f)
		const text = "hello he  ab é日\n"
		ids, err := tokenizer.NewEncoder(Options{}).Append(nil, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for _, id := range ids {
			got = append(got, tokenizer.Piece(id)...)
		}
		if string(got) != text {
			t.Errorf("the pieces are %q, want %q", got, text)
		}
	}
}
