package rule

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/internal/text"
)

// A literal is a value in a filter's text. Bind makes it a value of a column's type.
type literal struct {
	kind literalKind
	num  number
	text string  // of a text, and the bytes of a blob
	time instant // of a date, time or timestamp
	yes  bool    // of a boolean

	clock *clock // of today() and now()
}

type literalKind uint8

const (
	numberLiteral literalKind = iota
	notFinite                 // text is nan, inf or -inf
	textLiteral
	bytesLiteral
	boolLiteral
	dateLiteral
	timeLiteral
	timestampLiteral
	clockLiteral // Expr.At makes it a date or a timestamp
)

// what names the kind of a literal in messages.
func (l *literal) what() string {
	return [...]string{"a number", "a float", "a string", "bytes", "a boolean", "a date", "a time", "a timestamp", "a time of the run"}[l.kind]
}

// String is the literal as the canonical text has it.
func (l *literal) String() string {
	switch l.kind {
	case numberLiteral:
		return l.num.String()
	case textLiteral:
		return quote(l.text, '\'')
	case bytesLiteral:
		return "x'" + hex.EncodeToString([]byte(l.text)) + "'"
	case boolLiteral:
		return strconv.FormatBool(l.yes)
	case dateLiteral:
		return "date '" + l.time.date() + "'"
	case timeLiteral:
		return "time '" + l.time.clock() + "'"
	case timestampLiteral:
		return "timestamp '" + l.time.String() + "'"
	case clockLiteral:
		return l.clock.String()
	}
	return l.text
}

// shown is the literal in a message: long ones are cut.
func (l *literal) shown() string {
	const most = 40
	return text.Shorten(l.String(), most)
}

// quote puts text in quotes and doubles those within.
func quote(text string, by byte) string {
	q := string(by)
	return q + strings.ReplaceAll(text, q, q+q) + q
}

// A number is (-1)^neg * digits * 10^exp. The digits have no zeros at either end; zero has no
// digits.
type number struct {
	neg    bool
	digits string
	exp    int
}

// maxExponent bounds the exponents of numbers in a text, far beyond any type's range.
const maxExponent = 9999

// parseNumber reads digits with a fraction and an exponent, without a sign.
func parseNumber(text string) (number, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	exp := 0
	if exponent != "" {
		n, err := strconv.Atoi(exponent)
		if err != nil || n < -maxExponent || n > maxExponent {
			return number{}, fmt.Errorf("the exponent of a number must be within %d and %d, got %s", -maxExponent, maxExponent, exponent)
		}
		exp = n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := strings.TrimLeft(whole+fraction, "0")
	exp -= len(fraction)
	cut := strings.TrimRight(all, "0")
	if cut == "" {
		return number{}, nil
	}
	exp += len(all) - len(cut)
	if exp+len(cut) > maxExponent || exp < -maxExponent {
		return number{}, fmt.Errorf("a number must have at most %d digits", maxExponent)
	}
	return number{digits: cut, exp: exp}, nil
}

// plainDigits is up to how many digits a number is written without an exponent.
const plainDigits = 40

// String is the one spelling of the number.
func (n number) String() string {
	sign := ""
	if n.neg {
		sign = "-"
	}
	point := len(n.digits) + n.exp // digits before the point
	switch {
	case n.digits == "":
		return "0"
	case n.exp >= 0 && point <= plainDigits:
		return sign + n.digits + strings.Repeat("0", n.exp)
	case n.exp < 0 && point > 0 && len(n.digits) <= 2*plainDigits:
		return sign + n.digits[:point] + "." + n.digits[point:]
	case n.exp < 0 && point <= 0 && -n.exp <= plainDigits:
		return sign + "0." + strings.Repeat("0", -point) + n.digits
	case len(n.digits) == 1:
		return sign + n.digits + "e" + strconv.Itoa(point-1)
	}
	return sign + n.digits[:1] + "." + n.digits[1:] + "e" + strconv.Itoa(point-1)
}

// isWhole reports whether the number has no fraction.
func (n number) isWhole() bool { return n.exp >= 0 }

// unscaled is the number times 10^scale as decimal digits, without a sign; ok is false when that
// has a fraction or more than most digits.
func (n number) unscaled(scale, most int) (digits string, ok bool) {
	if n.digits == "" {
		return "0", true
	}
	if n.exp+scale < 0 || len(n.digits)+n.exp+scale > most {
		return "", false
	}
	return n.digits + strings.Repeat("0", n.exp+scale), true
}
