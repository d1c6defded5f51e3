package avro

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

type kind uint8

const (
	null kind = iota
	boolean
	integer // int and long
	float
	double
	text // bytes and string
	fixed
	enum
	union
	array
	object // map
	record
)

var kinds = map[string]kind{
	"null": null, "boolean": boolean, "int": integer, "long": integer, "float": float, "double": double,
	"bytes": text, "string": text, "fixed": fixed, "enum": enum, "array": array, "map": object, "record": record, "error": record,
}

// A schema is a type of the file.
type schema struct {
	kind    kind
	size    int       // of a fixed, bytes
	of      []*schema // of a union; of an array or map, the one of its items
	fields  []field   // of a record
	symbols []string  // of an enum
}

type field struct {
	id   int // or 0
	name string
	typ  *schema
}

// A declaration is a type as the file's JSON has it.
type declaration struct {
	Type      json.RawMessage `json:"type"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Size      int             `json:"size"`
	Symbols   []string        `json:"symbols"`
	Items     json.RawMessage `json:"items"`
	Values    json.RawMessage `json:"values"`
	Fields    []struct {
		Name string          `json:"name"`
		Type json.RawMessage `json:"type"`
		ID   int             `json:"field-id"`
	} `json:"fields"`
}

// A parser keeps the types that have names, which may be used before they end.
type parser struct {
	named map[string]*schema // by full name
	space string             // the namespace around the type, or ""
	depth int
}

const maxDepth = 64 // of types within types

func parse(raw []byte) (*schema, error) {
	p := parser{named: map[string]*schema{}}
	s, err := p.parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: its schema: %w", ErrCorrupt, err)
	}
	if s.kind != record {
		return nil, fmt.Errorf("%w: its values are not records", ErrCorrupt)
	}
	return s, nil
}

func (p *parser) parse(raw []byte) (*schema, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("its types are nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	switch raw = bytes.TrimSpace(raw); {
	case len(raw) == 0:
		return nil, fmt.Errorf("a type is missing")
	case raw[0] == '"':
		var name string
		if err := json.Unmarshal(raw, &name); err != nil {
			return nil, err
		}
		return p.find(name)
	case raw[0] == '[':
		var all []json.RawMessage
		if err := json.Unmarshal(raw, &all); err != nil {
			return nil, err
		}
		return p.union(all)
	}
	var d declaration
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	var name string
	if json.Unmarshal(d.Type, &name) != nil {
		return p.parse(d.Type)
	}
	return p.declare(name, &d)
}

func (p *parser) find(name string) (*schema, error) {
	if s, ok := p.named[p.full(name, p.space)]; ok {
		return s, nil
	}
	k, ok := kinds[name]
	if !ok || k >= fixed {
		return nil, fmt.Errorf("the type %q is not known", name)
	}
	return &schema{kind: k}, nil
}

func (p *parser) union(all []json.RawMessage) (*schema, error) {
	s := &schema{kind: union}
	for _, raw := range all {
		one, err := p.parse(raw)
		if err != nil {
			return nil, err
		}
		s.of = append(s.of, one)
	}
	return s, nil
}

func (p *parser) declare(name string, d *declaration) (*schema, error) {
	k, ok := kinds[name]
	if !ok {
		return p.find(name)
	}
	if k == fixed && d.Size < 0 {
		return nil, fmt.Errorf("a fixed has %d bytes", d.Size)
	}
	s := &schema{kind: k, size: d.Size, symbols: d.Symbols}
	if k == fixed || k == enum || k == record {
		full := p.full(d.Name, cmp.Or(d.Namespace, p.space))
		p.named[full] = s
		defer func(outer string) { p.space = outer }(p.space)
		p.space = full[:max(0, strings.LastIndexByte(full, '.'))]
	}
	items := d.Items
	switch k {
	case object:
		items = d.Values
		fallthrough
	case array:
		one, err := p.parse(items)
		s.of = []*schema{one}
		return s, err
	}
	for _, f := range d.Fields {
		typ, err := p.parse(f.Type)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		s.fields = append(s.fields, field{id: f.ID, name: f.Name, typ: typ})
	}
	return s, nil
}

// full is the name of a type with its namespace.
func (p *parser) full(name, space string) string {
	if space == "" || strings.Contains(name, ".") {
		return name
	}
	return space + "." + name
}
