package rule

import (
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/column"
)

// folds are the changes of case that functions make.
var folds = map[function]fold{ofLower: toLower, ofUpper: toUpper}

// textMatcher binds a search, and a comparison of a text in one case.
func (b *binder) textMatcher(t *test, f *column.Field) matcher {
	name, what := strings.Join(t.of.path, "."), t.op.String()
	fits, of := canSearch(f), "strings and binary values"
	if fn := cases[t.of.fn]; fn != "" || t.op == opLike {
		if fn != "" {
			what = fn
		}
		fits, of = isText(f), "strings"
	}
	if !fits {
		b.problem("takes %s of column %q (%v); %s is of %s%s", what, name, f, what, of, searchAdvice(f))
		return nil
	}
	b.folds = b.folds || folds[t.of.fn] != asWritten
	values, ok := b.texts(t, f)
	if !ok {
		return nil
	}
	m := &searches{fold: folds[t.of.fn]}
	switch {
	case t.op == opLike:
		m.test = likeTest(t.values[0].text, t.escape)
	case t.op.searches():
		m.test = searchTest(t.op, values[0])
	default:
		m.test = newTexts(t.op, values)
	}
	if same, ok := m.test.(*texts); ok && m.fold == asWritten {
		return same
	}
	return m
}

// texts returns the values of a test; values of a search may have any length.
func (b *binder) texts(t *test, f *column.Field) ([][]byte, bool) {
	if t.op.searches() && f.Kind == column.Fixed {
		f = &column.Field{Name: f.Name, Kind: column.Binary, Type: column.TypeBinary}
	}
	values, ok := b.values(t, f)
	return bytesOf(values), ok
}

// searchAdvice returns the way to compare a column that has no text.
func searchAdvice(f *column.Field) string {
	switch f.Type {
	case column.TypeDate, column.TypeTimestamp, column.TypeInt96:
		return ", and dates and times are compared, as in >= '2024-01-31'"
	}
	if f.Kind == column.List || f.Kind == column.Struct {
		return ""
	}
	return ", and this column is compared with whole values"
}

// nanMatcher binds is nan.
func (b *binder) nanMatcher(t *test, f *column.Field) matcher {
	if t.of.fn == ofValue {
		switch f.Type {
		case column.TypeFloat16:
			return halfNaNs{}
		case column.TypeFloat32:
			return nans[float32]{}
		case column.TypeFloat64:
			return nans[float64]{}
		}
	}
	b.problem("asks whether %s is nan, which only floats can be; write is null for values that are missing", describe(t.name(), f))
	return nil
}

// name is the operand in messages.
func (t *test) name() string {
	if t.of.fn == ofValue {
		return fmt.Sprintf("column %q", strings.Join(t.of.path, "."))
	}
	return t.of.String()
}
