package option

import "strings"

// Go spells a field as Go does.
func Go(field string) string { return field }

// Spell replaces {Field} in a text by what name makes of it.
func Spell(text string, name func(field string) string) string {
	var b strings.Builder
	for {
		before, rest, opened := strings.Cut(text, "{")
		field, after, closed := strings.Cut(rest, "}")
		if !opened || !closed || !isName(field) {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(before)
		b.WriteString(name(field))
		text = after
	}
}

// isName reports whether text between braces can be a field: anything else is the user's.
func isName(text string) bool {
	for _, c := range text {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return text != "" && text[0] >= 'A' && text[0] <= 'Z'
}

// Spelled is the message of err and of all errors within it, with fields as name spells them.
// Errors that name fields have the method of the same name.
func Spelled(err error, name func(field string) string) string {
	switch e := err.(type) {
	case interface {
		Spelled(name func(field string) string) string
	}:
		return e.Spelled(name)
	case interface{ Unwrap() []error }:
		return respell(err, e.Unwrap(), name)
	case interface{ Unwrap() error }:
		return respell(err, []error{e.Unwrap()}, name)
	}
	return err.Error()
}

// respell puts the spelled messages of the errors within err in the place of their own.
func respell(err error, within []error, name func(field string) string) string {
	var b strings.Builder
	text := err.Error()
	for _, e := range within {
		if e == nil {
			continue
		}
		before, after, found := strings.Cut(text, e.Error())
		if !found {
			continue
		}
		b.WriteString(before)
		b.WriteString(Spelled(e, name))
		text = after
	}
	return b.String() + text
}
