package rule

import (
	"fmt"
	"strings"
)

// known names all functions in messages.
const known = "contains, ends_with, hash, len, lower, starts_with and upper are"

// otherFunctions are the functions and methods of SQL, pandas, pyarrow and polars that a filter
// spells otherwise, in lower case without underscores.
var otherFunctions = map[string]string{
	"startswith": "starts_with(title, 'x')", "prefix": "starts_with(title, 'x')", "endswith": "ends_with(title, 'x')", "suffix": "ends_with(title, 'x')",
	"contains": "contains(title, 'x')", "strcontains": "contains(title, 'x')", "matchsubstring": "contains(title, 'x')", "instr": "contains(title, 'x')",
	"strpos": "contains(title, 'x')", "position": "contains(title, 'x')", "charindex": "contains(title, 'x')", "containsany": "contains(title, 'x')",
	"like": "title like 'x%'", "ilike": "title ilike 'x%'", "matchlike": "title like 'x%'", "regexpmatches": "title like 'x%'; regular expressions are not known",
	"regexplike": "title like 'x%'; regular expressions are not known", "regexpfullmatch": "title like 'x%'; regular expressions are not known",
	"match": "title like 'x%'; regular expressions are not known", "fullmatch": "title like 'x%'; regular expressions are not known",
	"matchsubstringregex": "title like 'x%'; regular expressions are not known", "rlike": "title like 'x%'; regular expressions are not known",
	"isnan": "score is nan", "isnotnan": "score is not nan", "isnull": "score is null", "isna": "score is null", "isvalid": "score is not null",
	"notnull": "score is not null", "notna": "score is not null", "isnotnull": "score is not null",
	"isin": "lang in ('en', 'de')", "between": "price between 10 and 20", "isbetween": "price between 10 and 20",
	"tolowercase": "lower(title)", "lcase": "lower(title)", "casefold": "lower(title)", "utf8lower": "lower(title)", "lower": "lower(title)",
	"touppercase": "upper(title)", "ucase": "upper(title)", "utf8upper": "upper(title)", "upper": "upper(title)",
	"charlength": "len(title)", "characterlength": "len(title)", "arraylength": "len(tokens)", "cardinality": "len(tokens)", "size": "len(tokens)",
	"lenchars": "len(title)", "utf8length": "len(title)", "listvaluelength": "len(tokens)", "len": "len(title)", "length": "len(title)",
	"currentdate": "today()", "curdate": "today()", "getdate": "now()", "currenttimestamp": "now()", "localtimestamp": "now()", "sysdate": "now()",
	"transactiontimestamp": "now()", "getcurrenttimestamp": "now()", "utcnow": "now()", "todate": "date '2024-01-31'",
	"datesub": "today() - interval '7 days'", "dateadd": "today() + interval '7 days'", "todays": "today() - interval '7 days'",
	"col": "the name of the column alone", "field": "the name of the column alone", "column": "the name of the column alone",
}

// otherWay returns the filter's equivalent of a function of another language, or "" without one.
func otherWay(name string) string {
	return otherFunctions[strings.ReplaceAll(strings.ToLower(name), "_", "")]
}

// notFunction is the error of an unknown function.
func notFunction(name string) string {
	if way := otherWay(name); way != "" {
		return fmt.Sprintf("%q is not a function; write %s", name, way)
	}
	return fmt.Sprintf("%q is not a function; %s", name, known)
}

// method is the error of a method call, as in title.str.contains('x'), at its first token.
func (p *parser) method(first token, path []string) error {
	name := path[len(path)-1]
	way := "functions are written as in contains(title, 'x')"
	if other := otherWay(name); other != "" {
		way = "write " + other
	}
	return errorAt(p.text, first.at, "columns have no methods, and %q is called as one; %s", name, way)
}

// misplaced returns advice about a string or an unknown word after an operand, or "" if its meaning
// is unclear.
func (p *parser) misplaced(of operand) string {
	name, t := strings.Join(of.path, "."), p.now()
	if t.kind == wordToken {
		if way := otherWay(t.text); way != "" {
			return fmt.Sprintf("%q is not an operator; write %s", t.text, way)
		}
		return ""
	}
	switch strings.ToLower(name) {
	case "like", "ilike", "in", "between":
		return fmt.Sprintf("%s follows the name of a column, as in title %s 'x%%'", name, strings.ToLower(name))
	case "contains", "starts_with", "ends_with":
		return fmt.Sprintf("%s is a function: write %s(title, 'x')", name, strings.ToLower(name))
	}
	return ""
}

// valueFirst returns the correct form of a test that has its value first.
func (p *parser) valueFirst() string {
	switch t := p.now(); {
	case t.isWord("like") || t.isWord("ilike"):
		return "; like has the column first, as in title like 'x%'"
	case t.isWord("in"):
		return "; to look for text within a column write contains(title, 'x')"
	case t.kind == endToken || t.isWord("and") || t.isWord("or") || t.isSymbol(")"):
		return "; a value is not a condition: write the column and the operator before each, as in title like 'a%' or title like 'b%'"
	}
	return ""
}
