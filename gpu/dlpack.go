package gpu

// DeviceType is DLPack's DLDeviceType.
type DeviceType int32

// The kinds of memory that batches are in. Page-locked host memory is CPU: that is what importers of DLPack take it for.
const (
	CPU  DeviceType = 1
	CUDA DeviceType = 2
)
