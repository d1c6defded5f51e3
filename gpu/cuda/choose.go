package cuda

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/gpu"
)

// Choose opens the device with a name: host; cuda:N, or cuda for the first; auto is the first GPU
// if a driver has one, else the host. With auto a driver that exists and does not work is an error,
// not a reason to use the host.
func Choose(name string) (gpu.Device, error) {
	switch index, ok := strings.CutPrefix(name, "cuda:"); {
	case name == "host":
		return gpu.OpenHost(), nil
	case name == "cuda":
		return open(0)
	case ok:
		n, err := strconv.Atoi(index)
		if err != nil || n < 0 || strconv.Itoa(n) != index {
			return nil, unknownName(name)
		}
		return open(n)
	case name == "auto":
		dev, err := open(0)
		if errors.Is(err, gpu.ErrNoDriver) || errors.Is(err, gpu.ErrNoDevice) {
			return gpu.OpenHost(), nil
		}
		return dev, err
	}
	return nil, unknownName(name)
}

// open takes a device of the machine's driver.
func open(index int) (gpu.Device, error) {
	driver, err := Load("")
	if err != nil {
		return nil, err
	}
	dev, err := driver.Open(index)
	if err != nil {
		return nil, err // not dev: a nil *Device in an interface is not nil
	}
	return dev, nil
}

// Available is nil when Choose finds a GPU for auto, or says why it takes the host, or fails.
func Available() error {
	driver, err := Load("")
	if err != nil {
		return err
	}
	count, err := driver.Count()
	if err != nil {
		return err
	}
	if count == 0 {
		return noSuchDevice(0, 0)
	}
	return nil
}

func unknownName(name string) error {
	return fmt.Errorf("%w: %q: the names are auto, host, cuda and cuda:N, as in cuda:0", gpu.ErrNoDevice, name)
}
