package shardfeed

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/shardfeed/shardfeed/iterable"
)

// Chosen describes which rows the data set reads and how it changes their values, as short texts by
// the fields of its spec that are set. Ranks must have them in common. A rows file shows its
// digest, since ranks may have it under other names.
func (d *Dataset) Chosen() map[string]string {
	s := d.spec
	all := map[string]string{}
	for field, value := range map[string]any{
		"Filters": s.Filters, "Part": s.Part, "Parts": s.Parts, "PartKey": s.PartKey, "PartSeed": s.PartSeed, "Subsample": s.Subsample,
		"RowsNew": s.RowsNew, "Weight": s.Weight, "Sources": comparedSources(s.Sources), "Pack": s.Pack.compared(), "Bucket": s.Bucket.compared(),
		"Vocabulary": s.Vocabulary, "Unknown": s.Unknown, "Cast": s.Cast, "Hash": s.Hash, "Scale": s.Scale, "Stack": s.Stack, "Images": s.Images, "Boxes": s.Boxes,
	} {
		if v := reflect.ValueOf(value); !v.IsZero() && (v.Kind() != reflect.Map || v.Len() > 0) {
			all[field] = comparedText(value)
		}
	}
	d.addTokenizers(all)
	if d.rows != nil {
		all["Rows"] = d.rows.Digest()[:16]
	}
	return all
}

// addTokenizers adds what the tokens of columns depend on. Ranks may have the files under other
// names.
func (d *Dataset) addTokenizers(to map[string]string) {
	add := func(field string, of map[string]iterable.Tokenizer) {
		lines := map[string]string{}
		for name, t := range of {
			lines[name] = t.Line()
		}
		if len(lines) > 0 {
			to[field] = comparedText(lines)
		}
	}
	add("Tokenize", d.tokenizers)
	for _, s := range d.sources {
		add(fmt.Sprintf("Sources[%q]", s.Name), s.Tokenize)
	}
}

// comparedSources returns the rules of sources by name. Ranks may find the data and the rows files
// under other names, and weights may change.
func comparedSources(sources []Source) map[string]Source {
	all := map[string]Source{}
	for _, s := range sources {
		name := s.Name
		s.Name, s.Addresses, s.Rows, s.Weight, s.Repeat, s.Choose, s.Tokenize = "", nil, "", 0, 0, 0, nil
		all[name] = s
	}
	return all
}

// compared returns the packing with its defaults. Length does not change blocks.
func (p *Pack) compared() *Pack {
	if p == nil {
		return nil
	}
	c := *p
	c.Strategy, c.Length = string(p.options().PackStrategy()), ""
	return &c
}

// compared returns the bucket with its defaults.
func (b *Bucket) compared() *Bucket {
	if b == nil {
		return nil
	}
	c := *b
	c.Multiple = max(1, b.Multiple)
	return &c
}

// comparedText renders a value as canonical JSON, without the quotes of a text and the braces of an
// object. A digest replaces the end of a long text.
func comparedText(value any) string {
	content := compactJSON(value)
	var text string
	var members map[string]json.RawMessage
	if json.Unmarshal(content, &text) == nil {
		return shortText(text)
	}
	if json.Unmarshal(content, &members) != nil {
		return shortText(string(content))
	}
	var all []string
	for _, name := range sortedKeys(members) {
		all = append(all, name+"="+string(compactJSON(members[name])))
	}
	return shortText(strings.Join(all, ","))
}

// compactJSON leaves <, > and & as they are.
func compactJSON(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return fmt.Append(nil, value) // NaN and infinities, which Validate refuses
	}
	return bytes.TrimSpace(b.Bytes())
}

const mostText = 200 // bytes of a value in a message

func shortText(text string) string {
	if len(text) <= mostText {
		return text
	}
	digest := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%s... (%d bytes, %x)", strings.ToValidUTF8(text[:mostText], ""), len(text), digest[:6])
}
