package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// An interrupt ends the measuring, whatever time it was given, with nothing printed.
func TestGPUInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var out, errs bytes.Buffer
	begin := time.Now()
	code := run(ctx, []string{"gpu", "--device", "host", "--measure", "1h"}, strings.NewReader(""), &out, &errs)
	if took := time.Since(begin); took > 10*time.Minute {
		t.Errorf("it ended after %v", took)
	}
	if code != exitInterrupted || out.Len() > 0 || errs.String() != "shardfeed: interrupted\n" {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out.String(), errs.String())
	}
}

// The keys of the object are others' to rely on.
func TestGPUKeys(t *testing.T) {
	var s struct {
		Devices []map[string]json.RawMessage `json:"devices"`
	}
	object(t, &s, "gpu", "--json", "--device", "host", "--measure", "10ms")
	var rates map[string]float64
	if err := json.Unmarshal(s.Devices[0]["rates"], &rates); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ have, want []string }{
		{slices.Sorted(maps.Keys(s.Devices[0])), []string{"memory_bytes", "model", "name", "numa_node", "pci_address", "problem", "rates"}},
		{slices.Sorted(maps.Keys(rates)), []string{
			"page_lock_seconds_per_gib", "pageable_to_device_bytes_per_second", "pageable_to_host_bytes_per_second",
			"pinned_to_device_bytes_per_second", "pinned_to_host_bytes_per_second", "register_seconds_per_gib",
			"registered_to_device_bytes_per_second",
		}},
	} {
		if !slices.Equal(c.have, c.want) {
			t.Errorf("keys are %q, want %q", c.have, c.want)
		}
	}
	if rates["pageable_to_device_bytes_per_second"] <= 0 || rates["pinned_to_device_bytes_per_second"] != 0 {
		t.Errorf("rates of the host: %v", rates)
	}
}
