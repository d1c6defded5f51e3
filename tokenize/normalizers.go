package tokenize

import (
	"encoding/json"
	"fmt"

	"github.com/shardfeed/shardfeed/tokenize/internal/normal"
)

// newNormalizers reads the normalizer of a file, with the members of a Sequence in their order.
func newNormalizers(raw json.RawMessage) ([]rewriter, error) {
	p, ok, err := newPart("normalizer", raw)
	if err != nil || !ok {
		return nil, err
	}
	parts, err := p.flatten("normalizers")
	if err != nil {
		return nil, err
	}
	var all []rewriter
	for _, p := range parts {
		if p.kind == "BertNormalizer" {
			if all, err = appendBert(all, p); err != nil {
				return nil, err
			}
			continue
		}
		r, err := newNormalizer(p)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func newNormalizer(p part) (rewriter, error) {
	var r rewriter
	switch p.kind {
	case "NFC":
		r = normal.NFC()
	case "NFD":
		r = normal.NFD()
	case "NFKC":
		r = normal.NFKC()
	case "NFKD":
		r = normal.NFKD()
	case "Lowercase":
		r = normal.Lowercase()
	case "StripAccents":
		r = normal.StripAccents()
	case "Strip":
		f := struct {
			typed
			Left  bool `json:"strip_left"`
			Right bool `json:"strip_right"`
		}{}
		err := p.read(&f)
		return normal.Strip{Left: f.Left, Right: f.Right}, err
	case "Prepend":
		return newPrepend(p)
	case "Replace":
		return newReplace(p)
	case "Precompiled":
		return newPrecompiled(p)
	default:
		return nil, p.unsupported()
	}
	return r, p.read(&typed{})
}

func newPrepend(p part) (rewriter, error) {
	f := struct {
		typed
		Prepend string `json:"prepend"`
	}{}
	err := p.read(&f)
	return normal.Prepend{Text: f.Prepend}, err
}

func newReplace(p part) (rewriter, error) {
	f := struct {
		typed
		Pattern struct{ String, Regex *string } `json:"pattern"`
		Content string                          `json:"content"`
	}{}
	if err := p.read(&f); err != nil {
		return nil, err
	}
	switch {
	case f.Pattern.String != nil:
		return normal.Replace{Old: *f.Pattern.String, New: f.Content}, nil
	case f.Pattern.Regex == nil:
		return nil, fmt.Errorf("%s has no pattern", p.name)
	}
	r, known := normal.ReplaceExpression(*f.Pattern.Regex, f.Content)
	if !known {
		return nil, unsupported(p.name, "it replaces the pattern %q", *f.Pattern.Regex)
	}
	return r, nil
}

func newPrecompiled(p part) (rewriter, error) {
	f := struct {
		typed
		Charsmap []byte `json:"precompiled_charsmap"`
	}{}
	if err := p.read(&f); err != nil {
		return nil, err
	}
	r, err := normal.NewPrecompiled(f.Charsmap)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	return r, nil
}

// appendBert appends what a BertNormalizer does. Accents are stripped with lower case, unless
// strip_accents says otherwise.
func appendBert(all []rewriter, p part) ([]rewriter, error) {
	f := struct {
		typed
		CleanText    bool  `json:"clean_text"`
		ChineseChars bool  `json:"handle_chinese_chars"`
		StripAccents *bool `json:"strip_accents"`
		Lowercase    bool  `json:"lowercase"`
	}{}
	if err := p.read(&f); err != nil {
		return nil, err
	}
	strip := f.Lowercase
	if f.StripAccents != nil {
		strip = *f.StripAccents
	}
	for _, n := range normal.NewBert(normal.Bert{CleanText: f.CleanText, ChineseChars: f.ChineseChars, StripAccents: strip, Lowercase: f.Lowercase}) {
		all = append(all, n)
	}
	return all, nil
}

// removes reports whether a normalizer may remove the first character of a text.
func removes(r rewriter) bool {
	switch r := r.(type) {
	case normal.Strip:
		return r.Left
	case normal.Replace:
		return r.New == ""
	case normal.ReplaceRun:
		return r.New == ""
	case *normal.Each:
		return r != normal.Lowercase()
	case *normal.Precompiled:
		return true
	}
	return false
}
