package rule

import (
	"math"
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

// wordLiteral reads a value that is a word or begins with one.
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
	if read := p.temporal(); read != nil {
		return read()
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
		return literal{kind: kind, time: i}, nil
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

// operand reads a column, len(column) or hash(column, salt) % n.
func (p *parser) operand() (operand, error) {
	t := p.now()
	if t.kind != wordToken || !p.after().isSymbol("(") || keywords[strings.ToLower(t.text)] {
		path, err := p.path()
		return operand{path: path}, err
	}
	switch strings.ToLower(t.text) {
	case "len", "length":
		p.place += 2
		path, err := p.path()
		if err != nil {
			return operand{}, err
		}
		return operand{path: path, fn: ofLength}, p.needSymbol(")")
	case "hash":
		p.place += 2
		return p.hash()
	}
	return operand{}, p.fail("%q is not a function; len and hash are", t.text)
}

// hash reads the rest of hash(column, salt) % n.
func (p *parser) hash() (o operand, err error) {
	o.fn = ofHash
	if o.path, err = p.path(); err != nil {
		return o, err
	}
	if p.takeSymbol(",") {
		if o.salt, err = p.natural("the salt of hash", 0, math.MaxUint64); err != nil {
			return o, err
		}
	}
	if err := p.needSymbol(")"); err != nil {
		return o, err
	}
	if !p.takeSymbol("%") {
		return o, p.unexpected("% and a number, as in hash(user_id) % 10")
	}
	o.mod, err = p.natural("the number after %", 1, math.MaxInt64)
	return o, err
}

// natural reads a whole number within bounds.
func (p *parser) natural(what string, least, most uint64) (uint64, error) {
	t := p.now()
	n, err := strconv.ParseUint(t.text, 10, 64)
	if t.kind != digitsToken || err != nil || n < least || n > most {
		return 0, p.fail("%s must be a whole number from %d to %d", what, least, most)
	}
	p.place++
	return n, nil
}

// path reads the dotted name of a column.
func (p *parser) path() ([]string, error) {
	var path []string
	for {
		t := p.now()
		switch {
		case t.kind == wordToken && keywords[strings.ToLower(t.text)]:
			return nil, p.fail(`expected a column; quote one that is called so, as in "%s"`, t.text)
		case t.kind != wordToken && t.kind != doubleToken && t.kind != tickToken:
			return nil, p.unexpected("a column")
		case t.text == "":
			return nil, p.fail("the name of a column must not be empty")
		}
		path = append(path, t.text)
		p.place++
		if !p.takeSymbol(".") {
			return path, nil
		}
	}
}
