package rule

import (
	"slices"
	"strings"
	"testing"
)

func TestCanonicalText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"score >= 0.5", "score >= 0.5"},
		{" score>=.5 ", "score >= 0.5"},
		{"score >= 5e-1", "score >= 0.5"},
		{"a==1", "a = 1"},
		{"a<>1", "a != 1"},
		{"a = 1.00", "a = 1"},
		{"a = -0", "a = 0"},
		{"a = + 100", "a = 100"},
		{"a = 1e50", "a = 1e50"},
		{"a = 123456e60", "a = 1.23456e65"},
		{"a = 1e-50", "a = 1e-50"},
		{"a = 0.000125", "a = 0.000125"},
		{"a < -INF or a > Infinity or a = NaN", "a < -inf or a > inf or a = nan"},
		{"0.5 <= score", "score >= 0.5"},
		{"-1 < a", "a > -1"},
		{"'en' = lang", "lang = 'en'"},
		{`lang = "it's"`, "lang = 'it''s'"},
		{`lang = "say ""hi"""`, `lang = 'say "hi"'`},
		{`"odd name" = 1`, `"odd name" = 1`},
		{"`odd name` = 1", `"odd name" = 1`},
		{`"a""b" = 1`, `"a""b" = 1`},
		{`"score" = 1`, "score = 1"},
		{`"IN" = 1`, `"IN" = 1`},
		{"meta . source is not NULL", "meta.source is not null"},
		{`"a.b" = 1`, `"a.b" = 1`},
		{"언어 = 'ko'", "언어 = 'ko'"},
		{"nan = 1 and inf < 2 and date > 3", "nan = 1 and inf < 2 and date > 3"},
		{"lang IN ('en',\"de\",)", "lang in ('en', 'de')"},
		{"lang not in ['en']", "lang not in ('en')"},
		{"NOT lang in ('en')", "lang not in ('en')"},
		{"not (lang not in ('en'))", "lang in ('en')"},
		{"not not a = 1", "a = 1"},
		{"not (((a = 1)))", "not a = 1"},
		{"not (a = 1 and b = 2)", "not (a = 1 and b = 2)"},
		{"a not between 1 and 2 and b", "a not between 1 and 2 and b = true"},
		{"flag", "flag = true"},
		{"not flag", "not flag = true"},
		{"(flag) != true", "flag != true"},
		{"((a)) is null", "a is null"},
		{"a = 1 and (b = 2 and c = 3)", "a = 1 and b = 2 and c = 3"},
		{"a = 1 or (b = 2 and c = 3)", "a = 1 or b = 2 and c = 3"},
		{"(a = 1 or b = 2) and c = 3", "(a = 1 or b = 2) and c = 3"},
		{"id in @drop.txt", "id in @drop.txt"},
		{"id in @'drop list.txt'", "id in @'drop list.txt'"},
		{"not(id in @/data/drop-1.txt)", "id not in @/data/drop-1.txt"},
		{"len( tokens )>3", "len(tokens) > 3"},
		{"length(tokens) > 3", "len(tokens) > 3"},
		{"hash(user_id, 7) % 10 < 3", "hash(user_id, 7) % 10 < 3"},
		{"(hash(user_id,0)%10)<3", "hash(user_id) % 10 < 3"},
		{"raw = X'00FF'", "raw = x'00ff'"},
		{`raw = b'a\x00\'\\'`, "raw = x'6100275c'"},
		{"day >= DATE '2024-01-31'", "day >= date '2024-01-31'"},
		{"date '2024-01-31' <= day", "day >= date '2024-01-31'"},
		{"at < timestamp '2024-01-31T16:30:00.500+01:00'", "at < timestamp '2024-01-31 15:30:00.5Z'"},
		{"at < timestamp '2024-01-01 00:30 +0100'", "at < timestamp '2023-12-31 23:30:00Z'"},
		{"at < timestamp '2024-01-31'", "at < timestamp '2024-01-31 00:00:00'"},
		{"t = time '16:30'", "t = time '16:30:00'"},
		{"title LIKE 'x%'", "title like 'x%'"},
		{`title like "x%"`, "title like 'x%'"},
		{"not title like 'x'", "title not like 'x'"},
		{"title not like 'x' escape 'y'", "title not like 'x'"},
		{"title like 'a!%b%' escape '!'", `title like 'a\%b%' escape '\'`},
		{`title like 'a!_\!!' escape '!'`, `title like 'a\_\\!' escape '\'`},
		{`title like 'C:\%'`, `title like 'C:\%'`},
		{`title like 'a\\%' escape '\'`, `title like 'a\%'`},
		{"title ilike 'ÄB%'", "lower(title) like 'äb%'"},
		{"LOWER( title ) not ilike 'AB'", "lower(title) not like 'ab'"},
		{"Contains(meta.title, 'it''s')", "contains(meta.title, 'it''s')"},
		{"not starts_with(lower(t), 'x')", "not starts_with(lower(t), 'x')"},
		{"ends_with(raw, x'00')", "ends_with(raw, x'00')"},
		{"upper(lang) in ('EN', 'DE') and lower(lang) between 'a' and 'b'", "upper(lang) in ('EN', 'DE') and lower(lang) between 'a' and 'b'"},
		{"lower(lang) is null", "lower(lang) is null"},
		{"'en' = lower(lang)", "lower(lang) = 'en'"},
		{"score is NaN or score is not nan", "score is nan or score is not nan"},
		{"like like 'x' and contains = 1 and lower = 2 and escape = 3", "like like 'x' and contains = 1 and lower = 2 and escape = 3"},
	} {
		t.Run(c.text, func(t *testing.T) {
			e, err := Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.String(); got != c.want {
				t.Errorf("canonical text %q, want %q", got, c.want)
			}
			if e, err = Parse(c.want); err != nil || e.String() != c.want {
				t.Errorf("%q is not its own canonical text: %v, %v", c.want, e, err)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "must not be empty"},
		{"  ", "must not be empty"},
		{"\xff", "must be UTF-8; write other bytes as in x'ff'"},
		{"a", ""},
		{"user-id = 1", `at column 5, near "-id = 1": arithmetic is not known; quote a name that has other characters, as in "user-id"`},
		{"(a b)", `at column 4, near "b)": expected a comparison, in, between, like, is, and, or the end`},
		{"a =", "at column 4, at the end: expected a value"},
		{"a = 1 b", `at column 7, near "b": expected and, or, or the end`},
		{"a => 3", `at column 3, near "=> 3": write >=`},
		{"a = 1 && b = 2", `at column 7, near "&& b = 2": write and`},
		{"!a", `at column 1, near "!a": write not`},
		{"언어 = ko", `at column 6, near "ko": a column is compared with a column; compare a column with a value, and quote a string, as in 'ko'`},
		{"a = `b`", "at column 5, near \"`b`\": a column is compared with a column; compare a column with a value"},
		{"1 = 1", `at column 5, near "1": a value is compared with a value; name a column on one side`},
		{"1", `at column 2, at the end: expected a comparison: = != < <= > >=; a value is not a condition: write the column and the operator before each, as in title like 'a%' or title like 'b%'`},
		{"a = null", `at column 5, near "null": nothing is equal to null; write: is null, or is not null`},
		{"a in (1, null)", `at column 10, near "null)": nothing is equal to null; write: is null, or is not null`},
		{"a in ()", `at column 7, near ")": a list needs at least one value`},
		{"a in (1 2)", `at column 9, near "2)": expected "," or ")"`},
		{"a in 'x'", `at column 6, near "'x'": expected a list as in ("en", "de"), or a file as in @keep.txt`},
		{"a = @x", `at column 5, near "@x": a file of values follows in or not in`},
		{"a in @", `at column 6, near "@": the name of a file must follow @, as in @drop.txt`},
		{"a between 1 or 2", `at column 13, near "or 2": expected and, as in between 1 and 9`},
		{"a is 3", `at column 6, near "3": expected null or nan`},
		{"a not 3", `at column 7, near "3": expected in, between, like or ilike`},
		{"(a = 1", `at column 7, at the end: expected ")"`},
		{"in = 1", `at column 1, near "in = 1": expected a column; quote one that is called so, as in "in"`},
		{"abs(a) = 1", `at column 1, near "abs(a) = 1": "abs" is not a function; contains, ends_with, hash, len, lower, starts_with and upper are`},
		{"hash(a) = 1", `at column 9, near "= 1": expected % and a number, as in hash(user_id) % 10`},
		{"hash(a) % 0 = 1", `at column 11, near "0 = 1": the number after % must be a whole number from 1 to 9223372036854775807`},
		{"hash(a, -1) % 2 = 1", `at column 9, near "-1) % 2 = 1": the salt of hash must be a whole number from 0 to 18446744073709551615`},
		{"a = 'x", `at column 5, near "'x": the quote is not closed`},
		{`a = b'\q'`, `at column 7, near "\\q'": unknown escape; \\, \', \", \n, \r, \t, \0 and \xff are known`},
		{"a = x'0'", `at column 5, near "x'0'": x'..' needs pairs of hexadecimal digits, got "0"`},
		{"a = 5kg", `at column 6, near "kg": a number ends in letters; quote a string, as in '5kg'`},
		{"a = 1e99999", `at column 5, near "1e99999": the exponent of a number must be within -9999 and 9999, got 99999`},
		{"a = date '2024-02-30'", `at column 5, near "date '2024-02-30": "2024-02-30" is not a date; write a date as in '2024-01-31'`},
		{"a = timestamp '2024-02-03 25:00'", `at column 5, near "timestamp '2024-": "2024-02-03 25:00" is not a timestamp; ` + timestampForm},
		{"a = time '1:00'", `at column 5, near "time '1:00'": "1:00" is not a time of the day; write a time as in '16:30:00.5'`},
		{"a ? 1", `at column 3, near "? 1": '?' is not known here`},
		{"a * 2 = 1", `at column 3, near "* 2 = 1": arithmetic is not known`},
		{"a. = 1", `at column 4, near "= 1": expected a column`},
		{`"" = 1`, `at column 1, near "\"\" = 1": the name of a column must not be empty`},
		{strings.Repeat("(", 300) + "a" + strings.Repeat(")", 300), `at column 251, near "((((((((((((((((": more than 250 parentheses and nots within each other`},
		{strings.Repeat("not ", 300) + "a", `at column 1001, near "not not not not ": more than 250 parentheses and nots within each other`},
	} {
		t.Run(c.text, func(t *testing.T) {
			_, err := Parse(c.text)
			got := ""
			if err != nil {
				got = strings.TrimPrefix(err.Error(), "Filters ")
			}
			if got != c.want {
				t.Errorf("error %q\nwant  %q", got, c.want)
			}
		})
	}
}

func TestTextThatIsTooLong(t *testing.T) {
	_, err := Parse("a in (" + strings.Repeat("1,", 1<<19) + ")")
	if want := "Filters must have at most 1048576 bytes, got 1048583; put the values of a long list into a file, one a line, and write: in @file"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestColumns(t *testing.T) {
	e, err := Parse(`b = 1 and (a.x = 2 or not "odd name" in (3)) and len(b) > 2 and hash(c) % 2 = 0`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := e.Columns(), []string{"b", "a.x", "odd name", "c"}; !slices.Equal(got, want) {
		t.Errorf("columns %q, want %q", got, want)
	}
}
