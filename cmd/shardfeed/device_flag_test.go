package main

import (
	"fmt"
	"testing"
)

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
