//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/internal/fakecuda"
)

// TestChoose asks for devices by name, on machines with 0 to 2 of them, with drivers that work or
// not.
func TestChoose(t *testing.T) {
	const none = "/nowhere/libcuda.so.1"
	for _, c := range []struct {
		name    string
		devices int
		library string // "": the fake
		init    int    // what cuInit returns
		want    string // device
		err     error
		text    string
	}{
		{name: "host", want: "host"},
		{name: "host", library: none, want: "host"},
		{name: "auto", devices: 1, want: "cuda:0"},
		{name: "auto", devices: 0, want: "host"},
		{name: "auto", library: none, want: "host"},
		{name: "auto", devices: 1, init: 34, want: "host"},
		{name: "auto", devices: 1, init: 803, text: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)"},
		{name: "auto", devices: 1, init: 999, text: "CUDA_ERROR_UNKNOWN (999)"},
		{name: "cuda", devices: 1, want: "cuda:0"},
		{name: "cuda", devices: 0, err: gpu.ErrNoDevice, text: "CUDA_ERROR_NO_DEVICE (100)"},
		{name: "cuda", library: none, err: gpu.ErrNoDriver, text: none},
		{name: "cuda:0", devices: 2, want: "cuda:0"},
		{name: "cuda:1", devices: 2, want: "cuda:1"},
		{name: "cuda:1", devices: 1, err: gpu.ErrNoDevice, text: "cuda:1 of 1 devices"},
		{name: "cuda:9", devices: 2, err: gpu.ErrNoDevice, text: "cuda:9 of 2 devices"},
		{name: "cuda:0", library: none, err: gpu.ErrNoDriver, text: "SHARDFEED_LIBCUDA"},
		{name: "gpu", devices: 1, err: gpu.ErrNoDevice, text: `"gpu": the names are auto, host, cuda and cuda:N`},
		{name: "cuda:-1", devices: 1, err: gpu.ErrNoDevice, text: `"cuda:-1": the names`},
		{name: "cuda:x", devices: 1, err: gpu.ErrNoDevice, text: `"cuda:x": the names`},
		{name: "cuda:", devices: 1, err: gpu.ErrNoDevice, text: `"cuda:": the names`},
		{name: "cuda:00", devices: 1, err: gpu.ErrNoDevice, text: `"cuda:00": the names`},
		{name: "cuda: 0", devices: 1, err: gpu.ErrNoDevice, text: `"cuda: 0": the names`},
		{name: "CUDA", devices: 1, err: gpu.ErrNoDevice, text: `"CUDA": the names`},
		{name: "", devices: 1, err: gpu.ErrNoDevice, text: `"": the names`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakecuda.Open(t)
			f.Devices(c.devices)
			if c.init != 0 {
				f.Fault("cuInit", 0, c.init)
			}
			t.Setenv(libraryVariable, f.Library)
			if c.library != "" {
				t.Setenv(libraryVariable, c.library)
			}
			dev, err := Choose(c.name)
			if c.want == "" {
				if dev != nil || err == nil || c.err != nil && !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%v, %v; want %v with %q", dev, err, c.err, c.text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := dev.Info().Name; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if err := dev.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAvailable says why the host would be taken.
func TestAvailable(t *testing.T) {
	f := fakecuda.Open(t)
	t.Setenv(libraryVariable, f.Library)
	if err := Available(); err != nil {
		t.Error(err)
	}
	f.Fault("cuDeviceGetCount", 1, 999)
	if err := Available(); err == nil || errors.Is(err, gpu.ErrNoDevice) {
		t.Errorf("a driver that does not work: %v", err)
	}
	f.Devices(0)
	if err := Available(); !errors.Is(err, gpu.ErrNoDevice) {
		t.Errorf("no device: %v", err)
	}
	t.Setenv(libraryVariable, "/nowhere/libcuda.so.1")
	if err := Available(); !errors.Is(err, gpu.ErrNoDriver) || !strings.Contains(err.Error(), "/nowhere/libcuda.so.1") {
		t.Errorf("no driver: %v", err)
	}
}
