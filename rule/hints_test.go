package rule

import (
	"strings"
	"testing"
)

// TestOtherLanguages: what users of SQL, pandas, pyarrow and polars type is answered by what they
// mean.
func TestOtherLanguages(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"~contains(a, 'x')", "write not"},
		{"!contains(a, 'x')", "write not"},
		{"title ~ 'x.*'", "to match text write title like 'x%', regular expressions are not known"},
		{"title ~* 'x.*'", "write title ilike 'x%'; regular expressions are not known"},
		{"title !~ 'x.*'", "write title not like 'x%'; regular expressions are not known"},
		{"title ~~ 'x%'", "write title like 'x%'"},
		{"a = 1 & b = 2", "write and"},
		{"a = 1 | b = 2", "write or"},
		{"like '%x'", "like follows the name of a column, as in title like 'x%'"},
		{"title like '%x' or '%y'", "a value is not a condition: write the column and the operator before each"},
		{"title like ('a%', 'b%')", "expected one pattern; write the column before each"},
		{"title like any ('a%')", "expected a pattern in quotes, as in like 'abc%'"},
		{"title like x", "expected a pattern in quotes, as in like 'abc%'"},
		{"title like 'x!' escape '!'", "the pattern ends in its escape '!'; double it to mean the character"},
		{"title like 'x' escape ''", `expected one character in quotes, as in escape '\'`},
		{"upper(title) ilike 'x'", "ilike compares in lower case: name the column without upper"},
		{"'%x' like title", "like has the column first, as in title like 'x%'"},
		{"'x' in title", "to look for text within a column write contains(title, 'x')"},
		{"title contains 'x'", `"contains" is not an operator; write contains(title, 'x')`},
		{"title startswith 'x'", `"startswith" is not an operator; write starts_with(title, 'x')`},
		{"title rlike 'x.*'", `"rlike" is not an operator; write title like 'x%'; regular expressions are not known`},
		{"contains 'x'", "contains is a function: write contains(title, 'x')"},
		{"contains('x', title)", "the column comes first, as in contains(title, 'x')"},
		{"contains(title)", `expected "," and the text to look for, as in contains(title, 'x')`},
		{"contains(title, 'x') = true", "a search is a condition: leave out =, or write not before it"},
		{"startswith(title, 'x')", `"startswith" is not a function; write starts_with(title, 'x')`},
		{"endsWith(title, 'x')", `"endsWith" is not a function; write ends_with(title, 'x')`},
		{"isnan(score)", `"isnan" is not a function; write score is nan`},
		{"is_null(score)", `"is_null" is not a function; write score is null`},
		{"regexp_matches(title, 'x')", "regular expressions are not known"},
		{"col('title') = 'x'", `"col" is not a function; write the name of the column alone`},
		{"title.str.contains('x')", `columns have no methods, and "contains" is called as one; write contains(title, 'x')`},
		{"title.str.startswith('x')", `write starts_with(title, 'x')`},
		{"title.str.lower() = 'x'", `write lower(title)`},
		{"lang.isin(['en'])", "write lang in ('en', 'de')"},
		{"score.isnan()", "write score is nan"},
		{"title.str.zfill(3) = '003'", "functions are written as in contains(title, 'x')"},
		{"len(lower(title)) > 3", "len takes the name of a column"},
		{"score is na", "expected null or nan"},
	} {
		t.Run(c.text, func(t *testing.T) {
			if _, err := Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
}
