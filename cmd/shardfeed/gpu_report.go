package main

import (
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/internal/mem"
)

func (s *survey) report() *report {
	r := &report{}
	r.section("driver")
	switch {
	case s.Driver != nil:
		r.fact("found", "CUDA %s, %s", s.Driver.Version, s.Driver.Library)
	case s.missing:
		r.fact("found", "none")
	default:
		r.fact("found", "one that cannot be used")
	}
	switch {
	case s.Why == "":
		r.fact("--device auto", "takes %s", s.Auto)
	case s.Auto == "":
		r.fact("--device auto", "fails")
	default:
		r.fact("--device auto", "takes the host: batches stay in this machine's memory")
	}
	if s.Why != "" {
		r.note("%s", s.Why)
	}
	for i := range s.Devices {
		s.Devices[i].report(r)
	}
	return r
}

func (d *device) report(r *report) {
	r.section(d.Name)
	if d.Model != "" {
		r.fact("model", "%s", d.Model)
	}
	if d.Memory > 0 {
		r.fact("memory", "%v", mem.Bytes(d.Memory))
	}
	if d.Bus != "" {
		r.fact("address", "%s", d.Bus)
	}
	if d.Node >= 0 {
		r.fact("NUMA node", "%d", d.Node)
	}
	if d.Rates != nil {
		d.Rates.report(r)
	}
	if d.Problem != "" {
		r.fact("problem", "%s", d.Problem)
	}
}

func (m *rates) report(r *report) {
	for _, f := range []struct {
		name     string
		to, from float64
	}{
		{"page-locked", m.PinnedTo, m.PinnedFrom},
		{"registered", m.RegisteredTo, 0},
		{"pageable", m.PageableTo, m.PageableFrom},
	} {
		var parts []string
		if f.to > 0 {
			parts = append(parts, fmt.Sprintf("%.3g GB/s to the device", f.to/1e9))
		}
		if f.from > 0 {
			parts = append(parts, fmt.Sprintf("%.3g GB/s back", f.from/1e9))
		}
		if len(parts) > 0 {
			r.fact(f.name, "%s", strings.Join(parts, ", "))
		}
	}
	if m.PageLock > 0 {
		r.fact("page-locking", "%s per GiB, allocation included", seconds(m.PageLock))
	}
	if m.Register > 0 {
		r.fact("registering", "%s per GiB of memory that is in use", seconds(m.Register))
	}
}
