package rule

import "testing"

// FuzzParse: no text makes the parser panic, and what it accepts has a canonical text that is its
// own, names the same columns, and binds alike.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`score >= 0.5 and (lang in ("en", "de") or len(token_ids) between 16 and 4096) and not (id in @drop.txt)`,
		"meta.source is not null and hash(user_id, 7) % 10 < 3",
		"`odd name` = 'it''s' or \"x\"\"y\" != b'\\x00a' or raw <> X'00ff'",
		"day >= date '2024-01-31' and at < timestamp '2024-01-31T16:30:00.5+01:00' and t = time '16:30'",
		"not (flag) or not not 1e-3 <= a and a not in [-inf, nan, 00.100]",
		`name like 'a!%b_%' escape '!' and not (name ilike "%X%" or contains(lower(name), 'x')) or f64 is not nan`,
		"starts_with(raw, x'00') and ends_with(upper(colour), 'é') and lower(name) in ('a', \"b\") and name not like ''",
		"i8 = 1 and name > 'x' and f16 in (1, 2) and ms = '2024-01-31' and d38 <= 12.5 and five = 'abcde'",
		"day >= today() - interval '1 month -7 days' and ms < now() + interval 90 minutes or day in (TODAY(), today() - 3)",
		"us between timestamp '2024-02-29T23:30+05:30' - interval '1 year' and date '9999-12-31' - interval '-1' week",
	} {
		f.Add(seed)
	}
	schema := bindSchema()
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		canonical := e.String()
		again, err := Parse(canonical)
		if err != nil {
			t.Fatalf("%q has the canonical text %q: %v", text, canonical, err)
		}
		if again.String() != canonical {
			t.Fatalf("%q has the canonical text %q, and that has %q", text, canonical, again)
		}
		one, err := e.Bind(schema, readTestFile)
		two, err2 := again.Bind(schema, readTestFile)
		if (err == nil) != (err2 == nil) || err == nil && one.Key() != two.Key() {
			t.Fatalf("%q and %q bind as %v and %v", text, canonical, err, err2)
		}
	})
}
