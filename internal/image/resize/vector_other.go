//go:build !amd64

package resize

// Without vector instructions three channels in a word do.

func scaleRow(*uint32, *byte, *int32, *int16, int, int) {}

func sumRows(*uint64, **uint32, *uint32, int, int) {}

func scaleRowWide(*uint32, *byte, *int32, *int16, int, int) {}

func sumRowsWide(*uint64, **uint32, *uint32, int, int) {}

func canVector() bool { return false }

func packPlanes(*byte, *byte, *byte, *uint64, int, int) {}

func packPlane(*byte, *uint64, int, int) {}
