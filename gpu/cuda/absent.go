//go:build !linux || !(amd64 || arm64) || nocuda

package cuda

import (
	"fmt"
	"runtime"

	"github.com/shardfeed/shardfeed/gpu"
)

// A Driver is NVIDIA's, loaded; this build has none.
type Driver struct{}

// Load returns an error that matches gpu.ErrNoDriver.
func Load(Options) (*Driver, error) {
	return nil, &Error{
		Op: "load", Text: fmt.Sprintf("this build for %s/%s has no CUDA", runtime.GOOS, runtime.GOARCH),
		Hint: "builds for linux/amd64 and linux/arm64 without the build tag nocuda have it",
	}
}

// Library is the loaded library.
func (d *Driver) Library() string { return "" }

// Version is the newest version of CUDA that the driver can do, as in 12.8.
func (d *Driver) Version() string { return "" }

// Count is the number of devices that the driver shows to this process.
func (d *Driver) Count() (int, error) { return 0, gpu.ErrNoDriver }

// Open takes a device.
func (d *Driver) Open(int) (*Device, error) { return nil, gpu.ErrNoDriver }

// A Device is a GPU; this build has none, so that its methods are never called.
type Device struct{ gpu.Device }

// Register page-locks b for the device.
func (d *Device) Register([]byte) (unregister func() error, err error) {
	return nil, gpu.ErrUnsupported
}

// Stream is a stream of other code as a gpu.Stream.
func (d *Device) Stream(uintptr) gpu.Stream { return nil }
