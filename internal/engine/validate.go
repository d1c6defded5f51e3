package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// More than these is a mistake.
const (
	maxSlots   = 1 << 16
	maxWorkers = 1 << 10
)

func (h Hello) validate() error {
	if h.PID < 0 || h.LocalWorldSize < 0 {
		return protocolError("HELLO: pid %d, local_world_size %d", h.PID, h.LocalWorldSize)
	}
	return nil
}

// validate returns all that is wrong in one error. Values that only the command's options can judge
// are left to them.
func (o Open) validate() error {
	if o.Dataset == "" {
		return protocolError("OPEN without the identity of a data set")
	}
	return o.Spec.validate()
}

func (s Spec) validate() error {
	var errs []error
	check := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	oneOf := func(name, have string, values ...string) {
		check(have != "" && !slices.Contains(values, have), "%s=%q should be one of %q", name, have, values)
	}
	check(len(s.Addresses) == 0, "no address of a data set")
	check(slices.Contains(s.Addresses, ""), "an address is empty")
	oneOf("missing", s.Missing, "error", "null")
	oneOf("invalid_utf8", s.InvalidUTF8, "refuse", "replace")
	oneOf("tail", s.Tail, "drop", "pad", "short", "carry")
	for name, n := range map[string]int64{
		"batch_size": int64(s.BatchSize), "lanes": int64(s.Lanes), "unit_rows": s.UnitRows, "max_world_size": int64(s.MaxWorldSize),
		"slots": int64(s.Slots), "workers": int64(s.Workers),
	} {
		check(n < 0, "%s=%d is below 0", name, n)
	}
	check(s.Slots > maxSlots, "slots=%d is more than %d", s.Slots, maxSlots)
	check(s.Workers > maxWorkers, "workers=%d is more than %d", s.Workers, maxWorkers)
	check(s.BatchSize > math.MaxInt32, "batch_size=%d is more than %d", s.BatchSize, math.MaxInt32)
	seen := map[string]bool{}
	for _, p := range s.Pad {
		check(p.Column == "", "pad: no column is named")
		check(seen[p.Column], "pad: column %q stands there twice", p.Column)
		check(p.MaxLength < 0 || p.Multiple < 0, "pad: column %q: max_length=%d, multiple=%d", p.Column, p.MaxLength, p.Multiple)
		check(max(p.MaxLength, p.Multiple) > math.MaxInt32, "pad: column %q: max_length=%d, multiple=%d: more than %d", p.Column, p.MaxLength, p.Multiple,
			math.MaxInt32)
		seen[p.Column] = true
	}
	if len(errs) == 0 {
		return nil
	}
	return valueError("%v", errors.Join(errs...))
}
