package option

import (
	"fmt"
	"strings"
	"unicode"
)

// Flag is a field as the command spells it: "UnitRows" is --unit-rows, "Storage.profile" --profile.
func Flag(field string) string {
	switch key := storageKey(field); key {
	case "":
	case "request-payer":
		return "--request-payer requester"
	default:
		return "--" + key
	}
	field = ofSpec(field)
	switch field {
	case "Storage":
		return "--storage-option"
	case "Filters":
		return "--where"
	case "Packed":
		return "--pack"
	}
	return "--" + words(field, '-')
}

// Argument is a field as Python spells it: "UnitRows" is unit_rows, "Storage.profile" is a key of
// storage_options.
func Argument(field string) string {
	field = ofSpec(field)
	switch key := storageKey(field); {
	case key == "no-sign-request":
		return `storage_options={"anon": True}`
	case key == "request-payer":
		return `storage_options={"request_payer": "requester"}`
	case key != "":
		return fmt.Sprintf("storage_options={%q: ...}", strings.ReplaceAll(key, "-", "_"))
	case field == "Storage":
		return "storage_options"
	case field == "Packed":
		return "pack"
	case field == "Height", field == "Width": // of images
		return "size"
	case field == "IgnoreOrientation":
		return "exif"
	case field == "KeepAll": // of boxes
		return "drop=False"
	}
	return words(field, '_')
}

// ofSpec is a field of the loader as a spec names it, which has Null in place of Fill.
func ofSpec(field string) string {
	if column, ok := strings.CutPrefix(field, "Fill["); ok {
		return "Null[" + column
	}
	return field
}

// storageKeys are the fields of stores' options that hints name, by the keys of a spec's Storage.
var storageKeys = map[string]string{
	"EndpointURL": "endpoint-url", "Region": "region", "Profile": "profile", "Anonymous": "no-sign-request", "RequesterPays": "request-payer",
	"CABundle": "ca-bundle", "RetryFor": "retry-for",
}

// storageKey is the key of a spec's Storage that a field means, or "".
func storageKey(field string) string {
	if key, ok := strings.CutPrefix(field, "Storage."); ok {
		return key
	}
	return storageKeys[field]
}

// words joins the words of a field's name in lower case, including its parent's:
// "ShuffleBuffer.Rows" is the shuffle buffer, and Pad["tokens"].Max the padding of tokens.
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
