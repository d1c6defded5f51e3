package rule

import (
	"math"
	"strconv"
	"strings"
)

// functions are the ones of a column.
var functions = map[string]function{"len": ofLength, "length": ofLength, "hash": ofHash, "lower": ofLower, "upper": ofUpper}

// calls reports whether a function is called here.
func (p *parser) calls() bool {
	t := p.now()
	return t.kind == wordToken && p.after().isSymbol("(") && !keywords[strings.ToLower(t.text)]
}

// operand reads a column, or a function of one.
func (p *parser) operand() (operand, error) {
	t := p.now()
	if !p.calls() {
		path, err := p.path()
		if err == nil && p.now().isSymbol("(") {
			err = p.method(t, path)
		}
		return operand{path: path}, err
	}
	fn, ok := functions[strings.ToLower(t.text)]
	if !ok {
		return operand{}, p.fail("%s", notFunction(t.text))
	}
	p.place += 2
	if fn == ofHash {
		return p.hash()
	}
	if p.calls() {
		return operand{}, p.fail("%s takes the name of a column", strings.ToLower(t.text))
	}
	path, err := p.path()
	if err != nil {
		return operand{}, err
	}
	return operand{path: path, fn: fn}, p.needSymbol(")")
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
