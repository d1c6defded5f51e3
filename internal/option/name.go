package option

import (
	"strings"
	"unicode"
)

// Flag is a field as the command spells it: "UnitRows" is --unit-rows.
func Flag(field string) string { return "--" + words(field, '-') }

// Argument is a field as Python spells it: "UnitRows" is unit_rows.
func Argument(field string) string { return words(field, '_') }

// words joins the words of a field's name in lower case. What a field is a part of stands for it: "ShuffleBuffer.Rows" is the shuffle buffer.
func words(field string, join rune) string {
	field, _, _ = strings.Cut(field, ".")
	var b strings.Builder
	before := ' '
	for _, c := range field {
		if unicode.IsUpper(c) && unicode.IsLower(before) {
			b.WriteRune(join)
		}
		b.WriteRune(unicode.ToLower(c))
		before = c
	}
	return b.String()
}
