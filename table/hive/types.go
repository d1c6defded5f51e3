package hive

import "strings"

// words are Hive's types that have another name in Spark.
var words = map[string]string{
	"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long", "double precision": "double",
	"timestamp with local time zone": "timestamp", "timestamplocaltz": "timestamp", "decimal": "decimal(10,0)",
}

const maxNesting = 100

// typeOf returns a type in Hive's words as the JSON of Spark's schemas has it. It returns a text
// that it cannot parse as a word, for the error that names the column.
func typeOf(text string) any {
	p := typeParser{rest: strings.TrimSpace(text)}
	kind, ok := p.parse(0)
	if !ok || p.rest != "" {
		return text
	}
	return kind
}

// A typeParser reads types such as array<struct<a:int,b:decimal(10,2)>>.
type typeParser struct{ rest string }

// next takes a text off the front, and reports whether it was there.
func (p *typeParser) next(text string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, text)
	return ok
}

func (p *typeParser) parse(depth int) (kind any, ok bool) {
	if depth > maxNesting {
		return nil, false
	}
	switch {
	case p.next("array<"):
		item, ok := p.parse(depth + 1)
		return map[string]any{"type": "array", "elementType": item, "containsNull": true}, ok && p.next(">")
	case p.next("map<"):
		key, ok := p.parse(depth + 1)
		if !ok || !p.next(",") {
			return nil, false
		}
		value, ok := p.parse(depth + 1)
		return map[string]any{"type": "map", "keyType": key, "valueType": value, "valueContainsNull": true}, ok && p.next(">")
	case p.next("struct<"):
		members, ok := p.members(depth)
		return map[string]any{"type": "struct", "fields": members}, ok
	}
	return p.word()
}

// members reads the members of a struct and the bracket behind them.
func (p *typeParser) members(depth int) (all []any, ok bool) {
	for {
		name, rest, found := strings.Cut(p.rest, ":")
		if !found {
			return nil, false
		}
		p.rest = rest
		kind, ok := p.parse(depth + 1)
		if !ok {
			return nil, false
		}
		all = append(all, member(strings.Trim(name, "` "), kind))
		if !p.next(",") {
			return all, p.next(">")
		}
	}
}

// word reads a type without parts, which may have numbers in brackets.
func (p *typeParser) word() (kind any, ok bool) {
	end := strings.IndexAny(p.rest, ",<>(")
	if end >= 0 && p.rest[end] == '(' {
		closing := strings.IndexByte(p.rest, ')')
		if closing < 0 {
			return nil, false
		}
		end = closing + 1
	}
	if end < 0 {
		end = len(p.rest)
	}
	word := strings.ToLower(strings.ReplaceAll(p.rest[:end], ", ", ","))
	p.rest = p.rest[end:]
	if strings.HasPrefix(word, "char(") || strings.HasPrefix(word, "varchar(") {
		word = "string"
	}
	if other := words[word]; other != "" {
		word = other
	}
	return word, word != ""
}
