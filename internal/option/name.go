package option

import (
	"fmt"
	"strings"
	"unicode"
)

// Flag is a field as the command spells it: "UnitRows" is --unit-rows, "Storage.profile" --profile.
func Flag(field string) string {
	if key, ok := strings.CutPrefix(field, "Storage."); ok {
		return "--" + key
	}
	if field == "Storage" {
		return "--storage-option"
	}
	return "--" + words(field, '-')
}

// Argument is a field as Python spells it: "UnitRows" is unit_rows, "Storage.profile" is a key of storage_options.
func Argument(field string) string {
	key, ok := strings.CutPrefix(field, "Storage.")
	switch {
	case ok && key == "no-sign-request":
		return `storage_options={"anon": True}`
	case ok:
		return fmt.Sprintf("storage_options={%q: ...}", strings.ReplaceAll(key, "-", "_"))
	case field == "Storage":
		return "storage_options"
	}
	return words(field, '_')
}

// words joins the words of a field's name in lower case. What a field is a part of stands for it: "ShuffleBuffer.Rows" is the shuffle buffer,
// and Pad["tokens"].Max the padding of tokens.
func words(field string, join rune) string {
	field, index, found := strings.Cut(field, "[")
	if found {
		index = "[" + index[:strings.LastIndex(index, "]")+1]
	} else {
		field, _, _ = strings.Cut(field, ".")
	}
	var b strings.Builder
	before := ' '
	for _, c := range field {
		if unicode.IsUpper(c) && unicode.IsLower(before) {
			b.WriteRune(join)
		}
		b.WriteRune(unicode.ToLower(c))
		before = c
	}
	return b.String() + index
}
