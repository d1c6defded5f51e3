package values

import (
	"errors"
	"strconv"
)

// A Token is a flag that is a whole number, or the text of a token, or not given.
type Token struct {
	Number **int64
	Text   *string
}

func (t *Token) Set(s string) error {
	*t.Number, *t.Text = nil, ""
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		*t.Number = &n
		return nil
	}
	if *t.Text = s; s == "" {
		return errors.New(`must be a number or the text of a token, got ""`)
	}
	return nil
}

func (t *Token) String() string {
	switch {
	case t.Number == nil:
		return ""
	case *t.Number == nil:
		return *t.Text
	}
	return strconv.FormatInt(**t.Number, 10)
}

func (t *Token) Type() string { return "token" }
