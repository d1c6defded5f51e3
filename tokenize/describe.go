package tokenize

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Parts describes the parts of the file, each in one line, such as "normalizer: NFC".
func (t *Tokenizer) Parts() []string { return t.parts }

// describe returns a line for each part.
func (f *file) describe() ([]string, error) {
	var lines []string
	for _, of := range []struct {
		name, list string
		raw        json.RawMessage
	}{
		{"normalizer", "normalizers", f.Normalizer},
		{"pre_tokenizer", "pretokenizers", f.PreTokenizer},
		{"model", "", f.Model},
		{"post_processor", "processors", f.PostProcessor},
	} {
		p, ok, err := newPart(of.name, of.raw)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		parts, err := p.flatten(of.list)
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			lines = append(lines, p.name+": "+p.describe())
		}
	}
	if n := len(f.Added); n > 0 {
		lines = append(lines, fmt.Sprintf("added_tokens: %d", n))
	}
	return lines, nil
}

// describe names the type of a part, and its pattern.
func (p part) describe() string {
	if p.kind != "Split" && p.kind != "Replace" {
		return p.kind
	}
	var fields struct {
		Pattern struct{ String, Regex *string } `json:"pattern"`
	}
	_ = json.Unmarshal(p.raw, &fields) // a part that cannot be read is refused elsewhere
	switch {
	case fields.Pattern.Regex != nil:
		return p.kind + " " + *fields.Pattern.Regex
	case fields.Pattern.String != nil:
		return fmt.Sprintf("%s %q", p.kind, *fields.Pattern.String)
	}
	return p.kind
}

// Piece returns the bytes of text that a token is made of, where the file shows them. A token that
// starts or ends inside a character is not valid UTF-8.
func (t *Tokenizer) Piece(id int32) []byte {
	text, _ := t.tokens.Text(id)
	if t.form.bytes {
		if bytes, ok := bytesOf(text); ok {
			return []byte(bytes)
		}
		return []byte(text)
	}
	if hex, ok := strings.CutPrefix(text, "<0x"); ok && len(hex) == 3 {
		if b, err := strconv.ParseUint(strings.TrimSuffix(hex, ">"), 16, 8); err == nil {
			return []byte{byte(b)}
		}
	}
	return []byte(strings.ReplaceAll(text, metaspace, " "))
}
