package cuda

import "os"

// libraryVariable names another library than the driver's own: a driver that lies elsewhere, or one that stands in for it in tests.
const libraryVariable = "SHARDFEED_LIBCUDA"

// driverLibrary belongs to the installed driver. The name without a version is the toolkit's, a stub that cannot do anything.
const driverLibrary = "libcuda.so.1"

// Options say which driver is loaded. The zero value is the machine's.
type Options struct {
	Library string // path or name of the driver's library; "": $SHARDFEED_LIBCUDA, else libcuda.so.1 where the system's loader finds it

	sysfs string // "": /sys
}

func (o Options) withDefaults() Options {
	if o.Library == "" {
		o.Library = os.Getenv(libraryVariable)
	}
	if o.Library == "" {
		o.Library = driverLibrary
	}
	if o.sysfs == "" {
		o.sysfs = "/sys"
	}
	return o
}
