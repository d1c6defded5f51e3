package engine

import (
	"errors"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	fine := Spec{
		Addresses: []string{"s3://b/t"}, Missing: "null", InvalidUTF8: "replace", Tail: "carry", BatchSize: 4, Slots: 9, Workers: 8,
		Pad: []Pad{{Column: "a", MaxLength: 5}, {Column: "b", Multiple: 8}},
	}
	for _, s := range []Spec{fine, {Addresses: []string{"."}}} {
		if err := (Open{Dataset: "d", Spec: s}).validate(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for _, c := range []struct {
		want   string
		change func(*Spec)
	}{
		{"no address", func(s *Spec) { s.Addresses = nil }},
		{"an address is empty", func(s *Spec) { s.Addresses = []string{"a", ""} }},
		{`missing="drop" should be one of ["error" "null"]`, func(s *Spec) { s.Missing = "drop" }},
		{`invalid_utf8="ignore"`, func(s *Spec) { s.InvalidUTF8 = "ignore" }},
		{`tail="last"`, func(s *Spec) { s.Tail = "last" }},
		{"batch_size=-1 is below 0", func(s *Spec) { s.BatchSize = -1 }},
		{"batch_size=4294967296 is more", func(s *Spec) { s.BatchSize = 1 << 32 }},
		{"unit_rows=-5", func(s *Spec) { s.UnitRows = -5 }},
		{"lanes=-2", func(s *Spec) { s.Lanes = -2 }},
		{"max_world_size=-2", func(s *Spec) { s.MaxWorldSize = -2 }},
		{"slots=1000000 is more", func(s *Spec) { s.Slots = 1e6 }},
		{"workers=1000000000 is more", func(s *Spec) { s.Workers = 1e9 }},
		{`column "a" stands there twice`, func(s *Spec) { s.Pad = []Pad{{Column: "a"}, {Column: "a"}} }},
		{"no column is named", func(s *Spec) { s.Pad = []Pad{{}} }},
		{"max_length=-1", func(s *Spec) { s.Pad = []Pad{{Column: "a", MaxLength: -1}} }},
		{"multiple=1099511627776: more than", func(s *Spec) { s.Pad = []Pad{{Column: "a", Multiple: 1 << 40}} }},
	} {
		t.Run(c.want, func(t *testing.T) {
			s := fine
			c.change(&s)
			err := Open{Dataset: "d", Spec: s}.validate()
			var f *Failure
			if !errors.As(err, &f) || f.Kind != KindValue || !strings.Contains(f.Text, c.want) {
				t.Errorf("%s: %v", c.want, err)
			}
		})
	}
	both := fine
	both.Lanes, both.Tail = -1, "x"
	if err := both.validate(); err == nil || !strings.Contains(err.Error(), "lanes") || !strings.Contains(err.Error(), "tail") {
		t.Errorf("not all is listed: %v", err)
	}
	for _, err := range []error{(Open{Spec: fine}).validate(), (Hello{LocalWorldSize: -1}).validate(), (Hello{PID: -1}).validate()} {
		if !errors.Is(err, errProtocol) {
			t.Errorf("%v is not about the protocol", err)
		}
	}
}
