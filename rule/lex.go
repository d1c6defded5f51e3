package rule

import (
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A tokenKind is the kind of a token.
type tokenKind uint8

const (
	endToken    tokenKind = iota
	wordToken             // a name or a keyword, as written
	symbolToken           // = != < <= > >= ( ) [ ] , . % + -
	digitsToken           // a number without a sign
	singleToken           // 'text'
	doubleToken           // "text": a name before a comparison, a string after it
	tickToken             // `name`
	blobToken             // x'00ff' or b'text': bytes
	fileToken             // @name
)

// A token is a piece of a filter's text.
type token struct {
	kind tokenKind
	text string // unquoted; a symbol in its one spelling
	at   int    // byte of the filter's text
}

// A lexer cuts a filter's text into tokens.
type lexer struct {
	text string
	at   int
}

// next returns the next token.
func (l *lexer) next() (token, error) {
	l.at += len(l.text[l.at:]) - len(strings.TrimLeftFunc(l.text[l.at:], unicode.IsSpace))
	rest, at := l.text[l.at:], l.at
	if rest == "" {
		return token{kind: endToken, at: at}, nil
	}
	switch c := rest[0]; {
	case isLetter(rest):
		return l.word()
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		return l.number(), nil
	case c == '\'' || c == '"' || c == '`':
		text, err := l.quoted(c)
		return token{kind: map[byte]tokenKind{'\'': singleToken, '"': doubleToken, '`': tickToken}[c], text: text, at: at}, err
	case c == '@':
		return l.file()
	}
	return l.symbol()
}

// isLetter reports whether a name can start with s.
func isLetter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r == '_' || unicode.IsLetter(r)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isName reports whether s can be written as a name without quotes.
func isName(s string) bool {
	return s != "" && isLetter(s) && nameLength(s) == len(s) && !keywords[strings.ToLower(s)]
}

// nameLength is how many bytes of s continue a name.
func nameLength(s string) int {
	n := strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r)
	})
	if n < 0 {
		return len(s)
	}
	return n
}

// word reads a name or keyword; x'..' and b'..' are bytes.
func (l *lexer) word() (token, error) {
	at := l.at
	text := l.text[at : at+nameLength(l.text[at:])]
	l.at += len(text)
	if len(text) > 1 || l.at == len(l.text) {
		return token{wordToken, text, at}, nil
	}
	quote := l.text[l.at]
	switch prefix := text[0] | 0x20; {
	case prefix == 'x' && quote == '\'':
		return l.hex(at)
	case prefix == 'b' && (quote == '\'' || quote == '"'):
		return l.bytes(at, quote)
	}
	return token{wordToken, text, at}, nil
}

// hex reads the rest of x'00ff'.
func (l *lexer) hex(at int) (token, error) {
	text, err := l.quoted('\'')
	if err != nil {
		return token{}, err
	}
	raw, err := hex.DecodeString(text)
	if err != nil {
		return token{}, errorAt(l.text, at, "x'..' needs pairs of hexadecimal digits, got %q", text)
	}
	return token{blobToken, string(raw), at}, nil
}

// bytes reads the rest of b'a\x00', with Python's escapes.
func (l *lexer) bytes(at int, quote byte) (token, error) {
	var b strings.Builder
	for i := l.at + 1; i < len(l.text); i++ {
		switch c := l.text[i]; {
		case c == quote:
			l.at = i + 1
			return token{blobToken, b.String(), at}, nil
		case c >= utf8.RuneSelf:
			return token{}, errorAt(l.text, at, `b'..' takes ASCII and escapes as in \xff; write x'ff'`)
		case c != '\\':
			b.WriteByte(c)
		default:
			value, n := escape(l.text[i+1:])
			if n == 0 {
				return token{}, errorAt(l.text, i, `unknown escape; \\, \', \", \n, \r, \t, \0 and \xff are known`)
			}
			b.WriteByte(value)
			i += n
		}
	}
	return token{}, errorAt(l.text, at, "the quote is not closed")
}

// escape decodes the text after a backslash and returns the number of bytes it used, or 0 if the
// escape is unknown.
func escape(s string) (value byte, n int) {
	if s == "" {
		return 0, 0
	}
	if s[0] == 'x' && len(s) >= 3 {
		if raw, err := hex.DecodeString(s[1:3]); err == nil {
			return raw[0], 3
		}
		return 0, 0
	}
	if i := strings.IndexByte(`\'"nrt0`, s[0]); i >= 0 {
		return "\\'\"\n\r\t\x00"[i], 1
	}
	return 0, 0
}

// number reads digits with a fraction and an exponent.
func (l *lexer) number() token {
	at, s := l.at, l.text
	run := func() {
		for l.at < len(s) && isDigit(s[l.at]) {
			l.at++
		}
	}
	run()
	if l.at < len(s) && s[l.at] == '.' {
		l.at++
		run()
	}
	if l.at < len(s) && s[l.at]|0x20 == 'e' {
		sign := l.at + 1
		if sign < len(s) && (s[sign] == '+' || s[sign] == '-') {
			sign++
		}
		if sign < len(s) && isDigit(s[sign]) {
			l.at = sign
			run()
		}
	}
	return token{digitsToken, s[at:l.at], at}
}

// quoted reads text in quotes; a quote in it is doubled.
func (l *lexer) quoted(quote byte) (string, error) {
	var b strings.Builder
	for i := l.at + 1; i < len(l.text); i++ {
		if l.text[i] != quote {
			b.WriteByte(l.text[i])
			continue
		}
		if i+1 < len(l.text) && l.text[i+1] == quote {
			b.WriteByte(quote)
			i++
			continue
		}
		l.at = i + 1
		return b.String(), nil
	}
	return "", errorAt(l.text, l.at, "the quote is not closed")
}

// file reads @name or @'odd name'.
func (l *lexer) file() (token, error) {
	at := l.at
	l.at++
	rest := l.text[l.at:]
	if rest != "" && (rest[0] == '\'' || rest[0] == '"') {
		name, err := l.quoted(rest[0])
		if err == nil && name == "" {
			err = errorAt(l.text, at, "the name of a file must follow @")
		}
		return token{fileToken, name, at}, err
	}
	n := len(rest) - len(strings.TrimLeftFunc(rest, inFileName))
	if n == 0 {
		return token{}, errorAt(l.text, at, "the name of a file must follow @, as in @drop.txt")
	}
	l.at += n
	return token{fileToken, rest[:n], at}, nil
}

// inFileName reports whether the name of a file without quotes may contain r.
func inFileName(r rune) bool {
	return !unicode.IsSpace(r) && !strings.ContainsRune(`(),'"@`+"`", r) && unicode.IsPrint(r)
}

// spellings are other ways to write a symbol.
var spellings = map[string]string{"==": "=", "<>": "!="}

// hints maps symbols of other languages to advice.
var hints = map[string]string{
	"&&": "write and", "||": "write or", "&": "write and", "|": "write or", "!": "write not",
	"~":  "write not before a condition; to match text write title like 'x%', regular expressions are not known",
	"~*": "write title ilike 'x%'; regular expressions are not known", "!~": "write title not like 'x%'; regular expressions are not known",
	"~~": "write title like 'x%'",
	"=>": "write >=", "=<": "write <=", ";": "a filter is one condition", "*": "arithmetic is not known",
	"/": "arithmetic is not known", "::": "a cast is not known; a literal takes the column's type",
}

// symbol reads an operator or a bracket.
func (l *lexer) symbol() (token, error) {
	rest, at := l.text[l.at:], l.at
	for n := min(2, len(rest)); n > 0; n-- {
		text := rest[:n]
		if hint, ok := hints[text]; ok {
			return token{}, errorAt(l.text, at, "%s", hint)
		}
		if other, ok := spellings[text]; ok {
			text = other
		}
		switch text {
		case "=", "!=", "<", "<=", ">", ">=", "(", ")", "[", "]", ",", ".", "%", "+", "-":
			l.at += n
			return token{symbolToken, text, at}, nil
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return token{}, errorAt(l.text, at, "%q is not known here", r)
}
