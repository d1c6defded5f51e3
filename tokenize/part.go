package tokenize

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A part is a normalizer, pre-tokenizer, model or post-processor of a tokenizer.json.
type part struct {
	name string // its place in the file, as in "normalizer 1"
	kind string // its type
	raw  json.RawMessage
}

// newPart reads the type of a part. ok is false if raw is null or missing.
func newPart(name string, raw json.RawMessage) (p part, ok bool, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return part{}, false, nil
	}
	kind, err := kindOf(raw)
	if err != nil {
		return part{}, false, fmt.Errorf("%s: %w", name, err)
	}
	return part{name: name, kind: kind, raw: raw}, true, nil
}

// kindOf returns the type of an object, without reading what comes after it: models have megabytes.
func kindOf(raw json.RawMessage) (kind string, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	switch start, err := d.Token(); {
	case err != nil:
		return "", err
	case start != json.Delim('{'):
		return "", fmt.Errorf("it is %.40s, want an object", raw)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return "", err
		}
		if name == "type" {
			return kind, d.Decode(&kind)
		}
		var other json.RawMessage
		if err := d.Decode(&other); err != nil {
			return "", err
		}
	}
	return "", nil
}

// flatten returns the parts of a Sequence, and of the Sequences in it; for any other part, it
// returns that part. list is the name of the field with the members.
func (p part) flatten(list string) ([]part, error) {
	if p.kind != "Sequence" {
		return []part{p}, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(p.raw, &fields); err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	var members []json.RawMessage
	if err := json.Unmarshal(fields[list], &members); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", p.name, list, err)
	}
	var all []part
	for i, raw := range members {
		member, ok, err := newPart(fmt.Sprintf("%s %d", p.name, i+1), raw)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("%s is null", member.name)
		}
		inner, err := member.flatten(list)
		if err != nil {
			return nil, err
		}
		all = append(all, inner...)
	}
	return all, nil
}

// read decodes the part's fields. A field that the part does not have is unsupported: it may change
// the meaning of the others.
func (p part) read(fields any) error {
	d := json.NewDecoder(bytes.NewReader(p.raw))
	d.DisallowUnknownFields()
	if err := d.Decode(fields); err != nil {
		return unsupported(p.name, "%s has a field that is not known (%v)", p.kind, err)
	}
	return nil
}

// unsupported returns the error of a part that is not implemented.
func (p part) unsupported() error {
	const most = 400
	text := string(p.raw)
	if len(text) > most {
		text = text[:most] + "..."
	}
	return unsupported(p.name, "it is %s", text)
}

// typed is the field that each part has.
type typed struct {
	Type string `json:"type"`
}
