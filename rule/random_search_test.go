package rule

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/shardfeed/shardfeed/column"
)

// searches reports whether random filters search the column for text.
func (c *testColumn) searches() bool {
	switch c.field.Type {
	case column.TypeString, column.TypeEnum, column.TypeBinary, column.TypeFixedBinary:
		return true
	}
	return false
}

// search returns a random search in a column, or a comparison of its text in one case.
func (g *generator) search(c *testColumn, name string, pick func() any) condition {
	name, fold := g.cased(c, name)
	of := func(row int) any {
		if v := c.values[row]; v != nil {
			return fold(v.(string))
		}
		return nil
	}
	text := c.text
	if c.field.Type == column.TypeBinary || c.field.Type == column.TypeFixedBinary {
		text = textType("", column.TypeBinary).text
	}
	sought := g.part(fold(pick().(string)))
	tests := map[string]func(v string) bool{
		"contains":    func(v string) bool { return strings.Contains(v, sought) },
		"starts_with": func(v string) bool { return strings.HasPrefix(v, sought) },
		"ends_with":   func(v string) bool { return strings.HasSuffix(v, sought) },
	}
	fn := g.one("contains", "starts_with", "ends_with")
	found := condition{
		fn + "(" + name + ", " + text(g.r, sought) + ")",
		func(row int) truth { return holdsOf(of(row), func(v any) bool { return tests[fn](v.(string)) }) },
	}
	if text := c.field.Type; text == column.TypeBinary || text == column.TypeFixedBinary || g.r.IntN(2) == 0 {
		return found
	}
	return g.like(name, of, fold(pick().(string)))
}

func holdsOf(v any, test func(v any) bool) truth {
	if v == nil {
		return unknown
	}
	return truthOf(test(v))
}

// cased is a column that may be in one case.
func (g *generator) cased(c *testColumn, name string) (string, func(string) string) {
	if c.field.Type == column.TypeBinary || c.field.Type == column.TypeFixedBinary {
		return name, func(s string) string { return s }
	}
	switch g.r.IntN(3) {
	case 0:
		return "lower(" + name + ")", func(s string) string { return strings.Map(unicode.ToLower, s) }
	case 1:
		return "UPPER( " + name + ")", func(s string) string { return strings.ReplaceAll(strings.Map(unicode.ToUpper, s), "ß", "ẞ") }
	}
	return name, func(s string) string { return s }
}

// part is some part of a text, at its beginning, its end or between.
func (g *generator) part(s string) string {
	r := []rune(s)
	if !strings.ContainsRune(s, '\ufffd') && len(r) > 0 {
		lo := g.r.IntN(len(r))
		return string(r[lo : lo+g.r.IntN(len(r)-lo)+1])
	}
	return s
}

// like is a random pattern made of a value.
func (g *generator) like(name string, of func(int) any, value string) condition {
	escape := g.one("", "", `\`, "!", "é", "%")
	var pattern, want strings.Builder
	want.WriteString("(?s)^")
	for _, c := range value + g.one("", "", "%", "_", "zz") {
		switch kind := g.r.IntN(8); {
		case kind == 0 && escape != "%":
			pattern.WriteByte('_')
			want.WriteByte('.')
		case kind <= 2 && escape != "%":
			pattern.WriteString(g.one("%", "%%"))
			want.WriteString(".*")
		case strings.ContainsRune("%_"+escape, c) && escape == "":
		case strings.ContainsRune("%_"+escape, c):
			pattern.WriteString(escape + string(c))
			want.WriteString(regexp.QuoteMeta(string(c)))
		default:
			pattern.WriteRune(c)
			want.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	re := regexp.MustCompile(want.String() + "$")
	not := g.r.IntN(2) == 0
	text := name + map[bool]string{false: " ", true: " not "}[not] + g.one("like ", "LIKE\n") + quote(pattern.String(), '\'')
	if escape != "" {
		text += " escape " + quote(escape, '\'')
	}
	return condition{text, func(row int) truth {
		is := holdsOf(of(row), func(v any) bool { return re.MatchString(v.(string)) })
		if not {
			return yes - is
		}
		return is
	}}
}

func (c *testColumn) isFloat() bool {
	return c.field.Type == column.TypeFloat16 || c.field.Type == column.TypeFloat32 || c.field.Type == column.TypeFloat64
}

// isNaN is a random test of a column of floats.
func (g *generator) isNaN(c *testColumn, name string) condition {
	not := g.r.IntN(2) == 0
	return condition{
		name + map[bool]string{false: " is nan", true: " is not NaN"}[not],
		func(row int) truth {
			return holdsOf(c.values[row], func(v any) bool { return (v.(float64) != v.(float64)) != not })
		},
	}
}
