package option

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type problem struct{ field, text string }

func (p *problem) Error() string { return p.Spelled(Go) }

func (p *problem) Spelled(name func(string) string) string {
	return name(p.field) + " " + Spell(p.text, name)
}

func newProblem(field, text string) error { return &problem{field, text} }

func TestSpelled(t *testing.T) {
	l := List{New: newProblem}
	l.Add("MaxBatches", "must be more than {Workers}, got %d", 2)
	l.Within("Lanes", -1, 10)
	l.Within("Lanes", 11, 10)
	l.Within("Lanes", 10, 10)
	l.OneOf("Start", "soon", "filled", "direct")
	l.OneOf("Start", "", "filled", "direct")
	l.Join(nil)
	l.Join(errors.New("something else"))
	err := fmt.Errorf("options: %w", l.Err())
	for _, c := range []struct {
		name  string
		spell func(string) string
		want  string
	}{
		{"Go", Go, "options: MaxBatches must be more than Workers, got 2\nLanes must not be negative, got -1\nLanes must be at most 10, got 11\n" +
			`Start must be filled or direct, got "soon"` + "\nsomething else"},
		{"lower", strings.ToLower, "options: maxbatches must be more than workers, got 2\nlanes must not be negative, got -1\nlanes must be at most 10, got 11\n" +
			`start must be filled or direct, got "soon"` + "\nsomething else"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Spelled(err, c.spell); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if err.Error() != Spelled(err, Go) {
		t.Errorf("Error says %q", err)
	}
}

func TestNames(t *testing.T) {
	for _, c := range [][3]string{
		{"UnitRows", "--unit-rows", "unit_rows"},
		{"InvalidUTF8", "--invalid-utf8", "invalid_utf8"},
		{"ShuffleBuffer.Rows", "--shuffle-buffer", "shuffle_buffer"},
		{"Columns[1]", "--columns[1]", "columns[1]"},
		{`Fill["a"]`, `--null["a"]`, `null["a"]`},
		{`Pad["My.Tokens"].MaxLength`, `--pad["My.Tokens"]`, `pad["My.Tokens"]`},
		{"Seed", "--seed", "seed"},
		{"Height", "--height", "size"},
		{"IgnoreOrientation", "--ignore-orientation", "exif"},
		{"KeepAll", "--keep-all", "drop=False"},
		{"Filters", "--where", "filters"},
		{"PartKey", "--part-key", "part_key"},
		{"Storage", "--storage-option", "storage_options"},
		{"CABundle", "--ca-bundle", `storage_options={"ca_bundle": ...}`},
		{"RequesterPays", "--request-payer requester", `storage_options={"request_payer": "requester"}`},
		{"Storage.ca-bundle", "--ca-bundle", `storage_options={"ca_bundle": ...}`},
		{"Storage.no-sign-request", "--no-sign-request", `storage_options={"anon": True}`},
	} {
		t.Run(c[0], func(t *testing.T) {
			if Flag(c[0]) != c[1] || Argument(c[0]) != c[2] {
				t.Errorf("got %s and %s", Flag(c[0]), Argument(c[0]))
			}
		})
	}
}

// Braces that users wrote stay as they are.
func TestSpellLeavesOtherBraces(t *testing.T) {
	for _, text := range []string{"part-{000..999}.parquet", "{", "}{", "{a}", "{}", "no such file: {x, y}", "{Abc}", "{{Abc}}", "{Abc"} {
		t.Run(text, func(t *testing.T) {
			if got := Spell(Literal(text), strings.ToUpper); got != text {
				t.Errorf("a literal became %q", got)
			}
			if got := Spell("lower {Workers} of "+Literal(text)+" or {Lanes}", strings.ToLower); got != "lower workers of "+text+" or lanes" {
				t.Errorf("between fields: %q", got)
			}
			l := List{New: newProblem}
			l.Add("Start", "is %v, %q beside {Lanes}", text, text)
			if got, want := Spelled(l.Err(), strings.ToUpper), fmt.Sprintf("START is %v, %q beside LANES", text, text); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	for _, text := range []string{"part-{000..999}.parquet", "{", "}{", "{a}", "{}", "no such file: {x, y}"} {
		if got := Spell(text, strings.ToUpper); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestNear(t *testing.T) {
	known := []string{"price", "prices", "label", "unique_id"}
	for _, c := range []struct{ name, want string }{
		{"Prise", `; there is "price", "prices"`},
		{"uniqueid", `; there is "unique_id"`},
		{"zzzzz", `; there is "price", "prices", "label", "unique_id"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Near(c.name, slices.Values(known), known); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	many := slices.Repeat(known, 50)
	if got, want := Near("zzzzz", slices.Values(many), many), "; there are 200 others"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSpellWithAValue(t *testing.T) {
	for _, c := range []struct {
		name func(string) string
		want string
	}{{Flag, "read it with --on-error skip"}, {Argument, `read it with on_error="skip"`}, {Go, `read it with OnError="skip"`}} {
		if got := Spell("read it with {OnError=skip}", c.name); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
