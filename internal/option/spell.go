package option

import (
	"fmt"
	"regexp"
	"strings"
)

// Go spells a field as Go does.
func Go(field string) string { return field }

// Spell replaces {Field} in a text by name(Field), and {Field=word} by the field with that word as
// its value, as in --missing null or missing="null". Braces around other text, and in a Literal,
// are the user's.
func Spell(text string, name func(field string) string) string {
	text = fieldInText.ReplaceAllStringFunc(text, func(field string) string { return spellField(field[1:len(field)-1], name) })
	return strings.ReplaceAll(text, "{"+literal, "{")
}

var fieldInText = regexp.MustCompile(`\{[A-Z][A-Za-z0-9._-]*(=[a-z]+)?\}`)

func spellField(field string, name func(field string) string) string {
	field, word, given := strings.Cut(field, "=")
	spelled := name(field)
	switch {
	case !given:
		return spelled
	case strings.HasPrefix(spelled, "--"):
		return spelled + " " + word
	}
	return fmt.Sprintf("%s=%q", spelled, word)
}

// Marks between a brace and the text after it, in texts that are not spelled yet.
const (
	literal = "\x00" // the brace is the user's
	ours    = "\x01" // it is not
)

// Literal is a user's text as a part of one that is to be spelled.
func Literal(text string) string { return strings.ReplaceAll(text, "{", "{"+literal) }

// Sprintf formats a text with fields in the format: braces in the arguments are the user's.
func Sprintf(format string, args ...any) string {
	format = fieldInText.ReplaceAllStringFunc(format, func(field string) string { return ours + field[1:] })
	return strings.ReplaceAll(Literal(fmt.Sprintf(format, args...)), ours, "{")
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
