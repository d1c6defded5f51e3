package rule

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxText  = 1 << 20 // bytes of a filter
	maxDepth = 250     // of parentheses and not
)

// keywords cannot be names without quotes.
var keywords = map[string]bool{
	"and": true, "or": true, "not": true, "in": true, "is": true, "between": true, "null": true, "true": true, "false": true,
}

// Parse reads a filter. Its errors are an [*Error], which names the place.
func Parse(text string) (*Expr, error) {
	if len(text) > maxText {
		return nil, wrong(optionField, nil, "must have at most %d bytes, got %d; put the values of a long list into a file, one a line, and write: in @file",
			maxText, len(text))
	}
	if !utf8.ValidString(text) {
		return nil, wrong(optionField, nil, "must be UTF-8; write other bytes as in x'ff'")
	}
	p := &parser{lexer: lexer{text: text}}
	if err := p.scan(); err != nil {
		return nil, err
	}
	if p.now().kind == endToken {
		return nil, wrong(optionField, nil, "must not be empty")
	}
	root, err := p.either()
	if err != nil {
		return nil, err
	}
	if p.now().kind != endToken {
		return nil, p.unexpected("and, or, or the end")
	}
	return &Expr{root: root}, nil
}

// A parser reads tokens by recursive descent; each method reads one rule of the grammar in doc.go.
type parser struct {
	lexer
	tokens []token
	place  int
	depth  int
}

func (p *parser) scan() error {
	for {
		t, err := p.next()
		if err != nil {
			return err
		}
		p.tokens = append(p.tokens, t)
		if t.kind == endToken {
			return nil
		}
	}
}

func (p *parser) now() token { return p.tokens[p.place] }

// after is the token that follows the current one.
func (p *parser) after() token { return p.tokens[min(p.place+1, len(p.tokens)-1)] }

func (p *parser) fail(format string, args ...any) error {
	return errorAt(p.text, p.now().at, format, args...)
}

func (p *parser) unexpected(want string) error { return p.fail("expected %s", want) }

// isWord reports whether the current token is a keyword.
func (t token) isWord(w string) bool { return t.kind == wordToken && strings.EqualFold(t.text, w) }

func (t token) isSymbol(s string) bool { return t.kind == symbolToken && t.text == s }

// takeWord goes past a keyword when it is next.
func (p *parser) takeWord(w string) bool {
	if !p.now().isWord(w) {
		return false
	}
	p.place++
	return true
}

func (p *parser) takeSymbol(s string) bool {
	if !p.now().isSymbol(s) {
		return false
	}
	p.place++
	return true
}

// needSymbol goes past a symbol that must come.
func (p *parser) needSymbol(s string) error {
	if !p.takeSymbol(s) {
		return p.unexpected(strconv.Quote(s))
	}
	return nil
}

func (p *parser) either() (node, error) { return p.chain("or", true, p.both) }

func (p *parser) both() (node, error) { return p.chain("and", false, p.not) }

// chain reads nodes with a keyword between them.
func (p *parser) chain(between string, or bool, part func() (node, error)) (node, error) {
	first, err := part()
	if err != nil || !p.now().isWord(between) {
		return first, err
	}
	all := &logic{or: or}
	for n := first; ; {
		if inner, ok := n.(*logic); ok && inner.or == or {
			all.of = append(all.of, inner.of...)
		} else {
			all.of = append(all.of, n)
		}
		if !p.takeWord(between) {
			return all, nil
		}
		if n, err = part(); err != nil {
			return nil, err
		}
	}
}

func (p *parser) not() (node, error) {
	if !p.now().isWord("not") {
		return p.condition()
	}
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("more than %d parentheses and nots within each other", maxDepth)
	}
	defer func() { p.depth-- }()
	p.place++
	of, err := p.not()
	if err != nil {
		return nil, err
	}
	if inner, ok := of.(*negation); ok {
		return inner.of, nil
	}
	return &negation{of}, nil
}

// condition reads a test or a filter in parentheses.
func (p *parser) condition() (node, error) {
	if !p.now().isSymbol("(") {
		return p.test()
	}
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("more than %d parentheses and nots within each other", maxDepth)
	}
	defer func() { p.depth-- }()
	p.place++
	inner, err := p.either()
	if err != nil {
		return nil, err
	}
	if err := p.needSymbol(")"); err != nil {
		return nil, err
	}
	if t, ok := inner.(*test); ok && t.bare { // as in (hash(user) % 10) < 3
		return p.about(t.of)
	}
	return inner, nil
}

// test reads one test, with its value on either side.
func (p *parser) test() (node, error) {
	if o, ok := p.search(); ok {
		return p.searched(o)
	}
	if !p.startsLiteral() {
		of, err := p.operand()
		if err != nil {
			return nil, err
		}
		return p.about(of)
	}
	l, err := p.literal()
	if err != nil {
		return nil, err
	}
	o, ok := p.comparison()
	if !ok {
		return nil, p.unexpected("a comparison: = != < <= > >=" + p.valueFirst())
	}
	if p.startsLiteral() {
		return nil, p.fail("a value is compared with a value; name a column on one side")
	}
	of, err := p.operand()
	if err != nil {
		return nil, err
	}
	return &test{of: of, op: o.flipped(), values: []literal{l}}, nil
}

// startsLiteral reports whether a value starts here, in a place that allows a column too.
func (p *parser) startsLiteral() bool {
	switch t := p.now(); t.kind {
	case digitsToken, singleToken, blobToken:
		return true
	case symbolToken:
		return t.text == "-" || t.text == "+"
	case wordToken:
		return t.isWord("true") || t.isWord("false") || t.isWord("null") || p.isClock() || p.temporal() != nil
	}
	return false
}

// comparison goes past an operator between two values.
func (p *parser) comparison() (op, bool) {
	if t := p.now(); t.kind == symbolToken {
		for o := opEqual; o <= opAtLeast; o++ {
			if t.text == o.String() {
				p.place++
				return o, true
			}
		}
	}
	return 0, false
}

// about reads what a test says about its operand. Nothing at all is = true.
func (p *parser) about(of operand) (node, error) {
	if o, ok := p.comparison(); ok {
		l, err := p.literal()
		if err != nil {
			return nil, err
		}
		return &test{of: of, op: o, values: []literal{l}}, nil
	}
	if p.takeWord("is") {
		return p.is(of)
	}
	not := p.takeWord("not")
	switch {
	case p.takeWord("in"):
		t, err := p.members(of)
		return maybeNot(not, t), err
	case p.takeWord("between"):
		t, err := p.within(of)
		return maybeNot(not, t), err
	case p.now().isWord("like") || p.now().isWord("ilike"):
		t, err := p.like(of)
		return maybeNot(not, t), err
	case not:
		return nil, p.unexpected("in, between, like or ilike")
	}
	if err := p.alone(of); err != nil {
		return nil, err
	}
	return &test{of: of, op: opEqual, values: []literal{{kind: boolLiteral, yes: true}}, bare: true}, nil
}

// is reads what follows is.
func (p *parser) is(of operand) (node, error) {
	not := p.takeWord("not")
	switch {
	case p.takeWord("null"):
		return maybeNot(not, &test{of: of, op: opIsNull}), nil
	case p.takeWord("nan"):
		return maybeNot(not, &test{of: of, op: opIsNaN}), nil
	}
	return nil, p.unexpected("null or nan")
}

// alone checks that an operand without a comparison is complete.
func (p *parser) alone(of operand) error {
	switch t := p.now(); {
	case t.kind == endToken || t.isSymbol(")") || t.isWord("and") || t.isWord("or"):
		return nil
	case t.kind == singleToken || t.kind == doubleToken || t.kind == wordToken && p.after().kind == singleToken:
		if hint := p.misplaced(of); hint != "" {
			return p.fail("%s", hint)
		}
	case (t.isSymbol("-") || t.isSymbol("+")) && p.after().isWord("interval"):
		return p.fail("an interval is added to the value: write dt >= today() - interval '7 days' for dt + interval '7 days' >= today()")
	case t.isSymbol("-") || t.isSymbol("+") || t.isSymbol("%"):
		return p.fail(`arithmetic is not known; quote a name that has other characters, as in "user-id"`)
	}
	return p.unexpected("a comparison, in, between, like, is, and, or the end")
}

func maybeNot(not bool, t *test) node {
	if not {
		return &negation{t}
	}
	return t
}
