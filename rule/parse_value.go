package rule

import (
	"strconv"
	"strings"
)

// within reads the bounds of between.
func (p *parser) within(of operand) (*test, error) {
	lo, err := p.literal()
	if err != nil {
		return nil, err
	}
	if !p.takeWord("and") {
		return nil, p.unexpected("and, as in between 1 and 9")
	}
	hi, err := p.literal()
	if err != nil {
		return nil, err
	}
	return &test{of: of, op: opBetween, values: []literal{lo, hi}}, nil
}

// members reads what follows in: a list or a file.
func (p *parser) members(of operand) (*test, error) {
	t := &test{of: of, op: opIn}
	if f := p.now(); f.kind == fileToken {
		p.place++
		t.file = f.text
		return t, nil
	}
	closing := ")"
	if p.now().isSymbol("[") {
		closing = "]"
	} else if !p.now().isSymbol("(") {
		return nil, p.unexpected(`a list as in ("en", "de"), or a file as in @keep.txt`)
	}
	p.place++
	if p.now().isSymbol(closing) {
		return nil, p.fail("a list needs at least one value")
	}
	for {
		l, err := p.literal()
		if err != nil {
			return nil, err
		}
		t.values = append(t.values, l)
		more := p.takeSymbol(",")
		if p.takeSymbol(closing) {
			return t, nil
		}
		if !more {
			return nil, p.unexpected(`"," or ` + strconv.Quote(closing))
		}
	}
}

// literal reads a value.
func (p *parser) literal() (literal, error) {
	switch t := p.now(); t.kind {
	case digitsToken:
		return p.number(false)
	case symbolToken:
		if t.text == "-" || t.text == "+" {
			p.place++
			return p.number(t.text == "-")
		}
	case singleToken, doubleToken:
		p.place++
		if next := p.now(); (next.isSymbol("-") || next.isSymbol("+")) && p.after().isWord("interval") {
			return literal{}, p.fail("a string has no interval added; write date '..' or timestamp '..' before it")
		}
		return literal{kind: textLiteral, text: t.text}, nil
	case blobToken:
		p.place++
		return literal{kind: bytesLiteral, text: t.text}, nil
	case wordToken:
		return p.wordLiteral()
	case tickToken:
		return literal{}, p.fail("a column is compared with a column; compare a column with a value")
	case fileToken:
		return literal{}, p.fail("a file of values follows in or not in")
	}
	return literal{}, p.unexpected("a value")
}

// number reads a number behind its sign.
func (p *parser) number(neg bool) (literal, error) {
	t := p.now()
	if t.kind == wordToken && isNotFinite(t.text) {
		l, err := p.wordLiteral()
		if neg && l.text == "inf" {
			l.text = "-inf"
		}
		return l, err
	}
	if t.kind != digitsToken {
		return literal{}, p.unexpected("a number")
	}
	n, err := parseNumber(t.text)
	if err != nil {
		return literal{}, p.fail("%v", err)
	}
	p.place++
	if next := p.now(); next.kind == wordToken && next.at == t.at+len(t.text) {
		return literal{}, p.fail("a number ends in letters; quote a string, as in '%s%s'", t.text, next.text)
	}
	n.neg = neg && n.digits != ""
	return literal{kind: numberLiteral, num: n}, nil
}

func isNotFinite(w string) bool {
	switch strings.ToLower(w) {
	case "nan", "inf", "infinity":
		return true
	}
	return false
}

// wordLiteral reads a value that is a word or starts with one.
func (p *parser) wordLiteral() (literal, error) {
	t := p.now()
	switch w := strings.ToLower(t.text); {
	case w == "true" || w == "false":
		p.place++
		return literal{kind: boolLiteral, yes: w == "true"}, nil
	case w == "null":
		return literal{}, p.fail("nothing is equal to null; write: is null, or is not null")
	case isNotFinite(w):
		p.place++
		return literal{kind: notFinite, text: w[:3]}, nil
	}
	if p.isClock() {
		return p.clock()
	}
	if read := p.temporal(); read != nil {
		return read()
	}
	if way := otherWay(t.text); strings.HasSuffix(way, "()") {
		return literal{}, p.fail("%q is not known; write %s", t.text, way)
	}
	return literal{}, p.fail("a column is compared with a column; compare a column with a value, and quote a string, as in '%s'", t.text)
}

// temporal returns what reads date '..', time '..' or timestamp '..' when one of them is next.
func (p *parser) temporal() func() (literal, error) {
	next := p.after()
	if next.kind != singleToken && next.kind != doubleToken {
		return nil
	}
	kinds := map[string]literalKind{
		"date": dateLiteral, "time": timeLiteral, "timestamp": timestampLiteral, "timestamptz": timestampLiteral,
	}
	kind, ok := kinds[strings.ToLower(p.now().text)]
	if !ok {
		return nil
	}
	return func() (literal, error) {
		i, err := parseInstant(kind, next.text)
		if err != nil {
			return literal{}, p.fail("%v", err)
		}
		p.place += 2
		return p.moved(literal{kind: kind, time: i})
	}
}

func parseInstant(kind literalKind, text string) (instant, error) {
	switch kind {
	case dateLiteral:
		return parseDate(text)
	case timeLiteral:
		return parseTime(text)
	}
	return parseTimestamp(text)
}
