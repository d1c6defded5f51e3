package main

import (
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
)

func (s *survey) report() *term.Report {
	r := &term.Report{}
	r.Section("driver")
	switch {
	case s.Driver != nil:
		r.Fact("found", "CUDA %s, %s", s.Driver.Version, s.Driver.Library)
	case s.missing:
		r.Fact("found", "none")
	default:
		r.Fact("found", "one that cannot be used")
	}
	switch {
	case s.Why == "":
		r.Fact("--device auto", "takes %s", s.Auto)
	case s.Auto == "":
		r.Fact("--device auto", "fails")
	default:
		r.Fact("--device auto", "takes the host: batches stay in this machine's memory")
	}
	if s.Why != "" {
		r.Note("%s", s.Why)
	}
	for i := range s.Devices {
		s.Devices[i].report(r)
	}
	return r
}

func (d *device) report(r *term.Report) {
	r.Section(d.Name)
	if d.Model != "" {
		r.Fact("model", "%s", d.Model)
	}
	if d.Memory > 0 {
		r.Fact("memory", "%v", mem.Bytes(d.Memory))
	}
	if d.Bus != "" {
		r.Fact("address", "%s", d.Bus)
	}
	if d.Node >= 0 {
		r.Fact("NUMA node", "%d", d.Node)
	}
	if d.Rates != nil {
		d.Rates.report(r)
	}
	if d.Problem != "" {
		r.Fact("problem", "%s", d.Problem)
	}
}

func (m *rates) report(r *term.Report) {
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
			r.Fact(f.name, "%s", strings.Join(parts, ", "))
		}
	}
	if m.PageLock > 0 {
		r.Fact("page-locking", "%s per GiB, allocation included", term.Seconds(m.PageLock))
	}
	if m.Register > 0 {
		r.Fact("registering", "%s per GiB of memory that is in use", term.Seconds(m.Register))
	}
}
