package main

import (
	"fmt"
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"7d": 7 * 24 * time.Hour, "1.5d": 36 * time.Hour, "36h": 36 * time.Hour, "90m": 90 * time.Minute, "1h30m": 90 * time.Minute,
		"": 0, "7": 0, "d": 0, "0d": 0, "-1d": 0, "NaNd": 0, "1w": 0, "-5m": 0,
	} {
		t.Run(fmt.Sprintf("%q", s), func(t *testing.T) {
			var a age
			err := a.Set(s)
			if (err != nil) != (want == 0) || time.Duration(a) != want {
				t.Errorf("%q: %v, %v", s, time.Duration(a), err)
			}
		})
	}
	var huge age
	if err := huge.Set("1e30d"); err != nil || huge <= 0 {
		t.Errorf("%v, %v", time.Duration(huge), err)
	}
}

func TestDeviceName(t *testing.T) {
	for _, name := range []string{"auto", "host", "cuda", "cuda:0", "cuda:12"} {
		t.Run(name, func(t *testing.T) {
			var d deviceName
			if err := d.Set(name); err != nil || d.String() != name {
				t.Errorf("%s: %q, %v", name, d, err)
			}
		})
	}
	for _, name := range []string{"", "gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:1:2", "cuda:99999", "CUDA", "cpu", "host:0"} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			d := deviceName("host")
			if err := d.Set(name); err == nil || d != "host" {
				t.Errorf("%q was taken: %q, %v", name, d, err)
			}
		})
	}
}
