package tokenize

import (
	"encoding/json"

	"github.com/shardfeed/shardfeed/tokenize/internal/cut"
	"github.com/shardfeed/shardfeed/tokenize/internal/normal"
)

// A preTokenizer prepares a normalized text and cuts it into words.
type preTokenizer struct {
	prepare      []rewriter
	prepareFirst []rewriter // for the start of a document
	cutters      []cut.Cutter
	bytes        bool // ByteLevel: the model's symbols are bytes
	skipSpace    bool // words of white space have no tokens
	joined       bool // words were joined by spaces
}

// newPreTokenizer reads the pre-tokenizer of a file. Its texts have mark in place of spaces, if spaces
// become metaspaces.
func newPreTokenizer(raw json.RawMessage, mark string) (t preTokenizer, err error) {
	parts, err := preTokenizers(raw)
	if err != nil {
		return t, err
	}
	for i, p := range parts {
		if t.bytes {
			return t, unsupported(p.name, "%s comes after ByteLevel", p.kind)
		}
		switch p.kind {
		case "ByteLevel":
			err = t.byteLevel(p)
		case "Metaspace":
			err = t.metaspace(p, mark)
		case "Digits":
			err = t.digits(p)
		case "Split":
			err = t.split(p, mark)
		case "WhitespaceSplit":
			err = t.words(p, i+1 < len(parts) && parts[i+1].kind == "Metaspace")
		case "BertPreTokenizer":
			err = t.drops(p, cut.Bert())
		case "Whitespace":
			err = t.drops(p, cut.Words())
		case "Punctuation":
			err = t.punctuation(p)
		default:
			err = p.unsupported()
		}
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

// preTokenizers returns the parts of a file's pre-tokenizer.
func preTokenizers(raw json.RawMessage) ([]part, error) {
	p, ok, err := newPart("pre_tokenizer", raw)
	if err != nil || !ok {
		return nil, err
	}
	return p.flatten("pretokenizers")
}

// byteLevel reads a ByteLevel.
func (t *preTokenizer) byteLevel(p part) error {
	fields := struct {
		typed
		AddPrefixSpace bool `json:"add_prefix_space"`
		TrimOffsets    bool `json:"trim_offsets"`
		UseRegex       bool `json:"use_regex"`
	}{UseRegex: true}
	if err := p.read(&fields); err != nil {
		return err
	}
	if fields.AddPrefixSpace {
		if err := t.rewrites(p); err != nil {
			return err
		}
		t.prepend(prefix(" "), true, true)
	}
	if fields.UseRegex {
		t.cutters = append(t.cutters, cut.GPT2{})
	}
	t.bytes = true
	return nil
}

// metaspace reads a Metaspace.
func (t *preTokenizer) metaspace(p part, mark string) error {
	var fields struct {
		typed
		Replacement    string  `json:"replacement"`
		Text           string  `json:"str_rep"`
		AddPrefixSpace *bool   `json:"add_prefix_space"`
		PrependScheme  *string `json:"prepend_scheme"`
		Split          *bool   `json:"split"`
	}
	if err := p.read(&fields); err != nil {
		return err
	}
	if fields.Replacement != metaspace {
		return unsupported(p.name, "its replacement is %q, not %q", fields.Replacement, metaspace)
	}
	if err := t.rewrites(p); err != nil {
		return err
	}
	first, rest := true, true
	switch {
	case fields.PrependScheme == nil:
		first = fields.AddPrefixSpace == nil || *fields.AddPrefixSpace
		rest = first
	case *fields.PrependScheme == "always":
	case *fields.PrependScheme == "first":
		rest = false
	case *fields.PrependScheme == "never":
		first, rest = false, false
	default:
		return p.unsupported()
	}
	if fields.PrependScheme != nil && fields.AddPrefixSpace != nil && *fields.AddPrefixSpace != first {
		return p.unsupported()
	}
	if t.joined && !(first && rest) {
		return unsupported(p.name, "it does not put a metaspace before each word of WhitespaceSplit")
	}
	t.prepend(spacesTo(mark), true, true)
	t.prepend(prefix(mark), first, rest)
	if fields.Split == nil || *fields.Split {
		t.cutters = append(t.cutters, cut.Before{Mark: mark})
	}
	return nil
}

// prepend appends a rewriter for pieces at the start of a document, and for the rest.
func (t *preTokenizer) prepend(r rewriter, first, rest bool) {
	if first {
		t.prepareFirst = append(t.prepareFirst, r)
	}
	if rest {
		t.prepare = append(t.prepare, r)
	}
}

// rewrites returns an error if a part that changes text comes after one that cuts it.
func (t *preTokenizer) rewrites(p part) error {
	if len(t.cutters) > 0 {
		return unsupported(p.name, "%s changes words that an earlier part cut", p.kind)
	}
	return nil
}

// digits reads a Digits.
func (t *preTokenizer) digits(p part) error {
	var fields struct {
		typed
		Individual bool `json:"individual_digits"`
	}
	if err := p.read(&fields); err != nil {
		return err
	}
	t.cutters = append(t.cutters, cut.Digits{Individual: fields.Individual})
	return nil
}

// split reads a Split, whose regular expression must be a known one.
func (t *preTokenizer) split(p part, mark string) error {
	var fields struct {
		typed
		Pattern struct {
			String, Regex *string
		} `json:"pattern"`
		Behavior string `json:"behavior"`
		Invert   bool   `json:"invert"`
	}
	if err := p.read(&fields); err != nil {
		return err
	}
	if s := fields.Pattern.String; s != nil && *s == " " && mark == " " {
		return nil // all spaces became metaspaces
	}
	if fields.Pattern.Regex == nil {
		return p.unsupported()
	}
	expression := *fields.Pattern.Regex
	pattern, ok := cut.Find(expression)
	if !ok {
		return unsupported(p.name, "it splits by %q", expression)
	}
	isolated := fields.Behavior == "Isolated"
	if !isolated && !(pattern.Covers && fields.Behavior == "Removed" && fields.Invert) {
		return unsupported(p.name, "it splits by %q with the behavior %q and invert %v", expression, fields.Behavior, fields.Invert)
	}
	t.cutters = append(t.cutters, pattern.Cutter)
	return nil
}

// cutter returns the Cutter of all parts.
func (t *preTokenizer) cutter() (cut.Cutter, error) {
	if len(t.cutters) == 0 {
		return cut.Whole{}, nil
	}
	if c, ok := t.cutters[0].(*cut.Classes); ok && len(t.cutters) == 1 && t.skipSpace {
		return c.WithSpace(), nil
	}
	c, err := cut.Sequence(t.cutters)
	if err != nil {
		return nil, unsupported("pre_tokenizer", "it has %d parts that cut", len(t.cutters))
	}
	return c, nil
}

// spacesTo returns the rewriter that makes texts have mark in place of spaces and metaspaces.
func spacesTo(mark string) rewriter {
	if mark == " " {
		return normal.Replace{Old: metaspace, New: " "}
	}
	return normal.Replace{Old: " ", New: mark}
}
