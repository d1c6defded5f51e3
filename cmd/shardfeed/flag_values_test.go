package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/iterable"
)

func TestBufferSize(t *testing.T) {
	cases := []struct {
		text string
		want iterable.Size
		bad  bool
	}{
		{"100000", iterable.Size{Rows: 100000}, false},
		{"512MiB", iterable.Size{Bytes: 512 << 20}, false},
		{"100b", iterable.Size{Bytes: 100}, false},
		{"1GiB/rank", iterable.Size{Bytes: 1 << 30, Per: iterable.PerRank}, false},
		{"20000/rank", iterable.Size{Rows: 20000, Per: iterable.PerRank}, false},
		{"8 GiB / node", iterable.Size{Bytes: 8 << 30, Per: iterable.PerNode}, false},
		{"0", iterable.Size{}, true},
		{"0MiB", iterable.Size{}, true},
		{"many", iterable.Size{}, true},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%q", c.text), func(t *testing.T) {
			var b bufferSize
			err := b.Set(c.text)
			if (err != nil) != c.bad || b.size() != c.want {
				t.Errorf("%q: got %+v, %v", c.text, b, err)
			}
		})
	}
}

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
