package cuda

// Options say which driver is loaded. The zero value is the machine's.
type Options struct {
	Library string // path or name of the driver's library; "": $SHARDFEED_LIBCUDA, else libcuda.so.1 where the system's loader finds it
}
