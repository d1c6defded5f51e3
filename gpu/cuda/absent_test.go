//go:build !linux || !(amd64 || arm64) || nocuda

package cuda

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/gpu"
)

// TestAbsent: a build without CUDA says so, and auto takes the host.
func TestAbsent(t *testing.T) {
	_, load := Load("")
	_, choose := Choose("cuda:0")
	for _, err := range []error{load, choose, Available()} {
		if !errors.Is(err, gpu.ErrNoDriver) || !strings.Contains(err.Error(), "nocuda") {
			t.Errorf("%v, want that this build has no CUDA", err)
		}
	}
	for _, name := range []string{"auto", "host"} {
		dev, err := Choose(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := dev.Info().Name; got != "host" {
			t.Errorf("%s is %s", name, got)
		}
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Choose("gpu"); !errors.Is(err, gpu.ErrNoDevice) {
		t.Errorf("a wrong name: %v", err)
	}
}
