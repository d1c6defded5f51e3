package rule

import (
	"strings"
	"unicode"
)

// searchWords are the functions that look for text within a value.
var searchWords = map[string]op{"contains": opContains, "starts_with": opStartsWith, "ends_with": opEndsWith}

// search returns the operator of a search, as in contains(title, 'x'), when one is called here.
func (p *parser) search() (op, bool) {
	o, ok := searchWords[strings.ToLower(p.now().text)]
	return o, ok && p.calls()
}

// searched reads contains(column, 'x') and its kind.
func (p *parser) searched(o op) (node, error) {
	p.place += 2
	if p.startsLiteral() {
		return nil, p.fail("the column comes first, as in %s(title, 'x')", o)
	}
	of, err := p.operand()
	if err != nil {
		return nil, err
	}
	if !p.takeSymbol(",") {
		return nil, p.unexpected(`"," and the text to look for, as in ` + o.String() + "(title, 'x')")
	}
	l, err := p.literal()
	if err != nil {
		return nil, err
	}
	if err := p.needSymbol(")"); err != nil {
		return nil, err
	}
	if o, ok := p.comparison(); ok {
		return nil, p.fail("expected and, or, or the end; a search is a condition: leave out %s, or write not before it", o)
	}
	return &test{of: of, op: o, values: []literal{l}}, nil
}

// like reads like 'pattern' with its escape. Ilike is like of lower(column) and a pattern in lower
// case.
func (p *parser) like(of operand) (*test, error) {
	word := strings.ToLower(p.now().text)
	if word == "ilike" && of.fn == ofUpper {
		return nil, p.fail("ilike compares in lower case: name the column without upper")
	}
	p.place++
	at := p.now()
	if at.kind == wordToken && p.after().kind == singleToken || at.isSymbol("(") || at.isSymbol("[") {
		return nil, p.fail("expected one pattern; write the column before each, as in title like 'a%%' or title like 'b%%'")
	}
	if at.kind != singleToken && at.kind != doubleToken {
		return nil, p.fail("expected a pattern in quotes, as in %s 'abc%%'", word)
	}
	p.place++
	escape, err := p.escape()
	if err != nil {
		return nil, err
	}
	t := &test{of: of, op: opLike}
	pattern := at.text
	if pattern, t.escape, err = canonicalPattern(pattern, escape); err != nil {
		return nil, errorAt(p.text, at.at, "%v", err)
	}
	if word == "ilike" && of.fn == ofValue {
		t.of.fn = ofLower
	}
	if word == "ilike" {
		pattern = strings.Map(unicode.ToLower, pattern)
	}
	t.values = []literal{{kind: textLiteral, text: pattern}}
	return t, nil
}

// escape reads escape 'c', or returns 0 without one.
func (p *parser) escape() (rune, error) {
	if !p.takeWord("escape") {
		return 0, nil
	}
	t := p.now()
	c := []rune(t.text)
	if t.kind != singleToken && t.kind != doubleToken || len(c) != 1 {
		return 0, p.fail(`expected one character in quotes, as in escape '\'`)
	}
	p.place++
	return c[0], nil
}
