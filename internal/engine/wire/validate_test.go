package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed"
)

func TestValidate(t *testing.T) {
	fine := Spec{
		Addresses: []string{"s3://b/t"}, Missing: "null", InvalidUTF8: "replace", Order: shardfeed.Order{Tail: "carry"}, BatchSize: 4, Slots: 9, Workers: 8,
		Pad: []shardfeed.Pad{{Column: "a", MaxLength: 5}, {Column: "b", Multiple: 8}},
	}
	for _, s := range []Spec{fine, {Addresses: []string{"."}}} {
		if err := (Open{Dataset: "d", Spec: s}).Validate(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for _, c := range []struct {
		want   string
		change func(*Spec)
	}{
		{"addresses must name at least one", func(s *Spec) { s.Addresses = nil }},
		{"addresses[1] must not be empty", func(s *Spec) { s.Addresses = []string{"a", ""} }},
		{`missing must be error or null, got "drop"`, func(s *Spec) { s.Missing = "drop" }},
		{"batch_size must not be negative, got -1", func(s *Spec) { s.BatchSize = -1 }},
		{"unit_rows must not be negative, got -5", func(s *Spec) { s.UnitRows = -5 }},
		{`pad["a"] must not be there twice`, func(s *Spec) { s.Pad = []shardfeed.Pad{{Column: "a"}, {Column: "a"}} }},
	} {
		t.Run(c.want, func(t *testing.T) {
			s := fine
			c.change(&s)
			err := Open{Dataset: "d", Spec: s}.Validate()
			var f *Failure
			if !errors.As(err, &f) || f.Kind != KindValue || !strings.Contains(f.Text, c.want) {
				t.Errorf("%s: %v", c.want, err)
			}
		})
	}
	both := fine
	both.Lanes, both.Tail = -1, "x"
	if err := (Open{Dataset: "d", Spec: both}).Validate(); err == nil || !strings.Contains(err.Error(), "lanes") || !strings.Contains(err.Error(), "tail") {
		t.Errorf("not all is listed: %v", err)
	}
	for _, err := range []error{(Open{Spec: fine}).Validate(), (Hello{LocalWorldSize: -1}).Validate(), (Hello{PID: -1}).Validate()} {
		if !errors.Is(err, ErrProtocol) {
			t.Errorf("%v is not about the protocol", err)
		}
	}
}
