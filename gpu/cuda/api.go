package cuda

// A function is one of the driver, by the name that errors have it under.
type function struct {
	op      string
	address uintptr
}

// api is every function of the driver that is called.
type api struct {
	init, driverGetVersion                                                      function
	deviceGetCount, deviceGet, deviceGetName, deviceTotalMem, deviceGetPCIBusID function
	primaryCtxRetain, primaryCtxRelease, ctxSetCurrent                          function
	memHostAlloc, memFreeHost, memHostRegister, memHostUnregister               function
	memAlloc, memFree, memcpyHtoDAsync, memcpyDtoHAsync                         function
	streamCreate, streamDestroy, streamSynchronize, streamWaitEvent             function
	eventCreate, eventDestroy, eventRecord, eventQuery, eventSynchronize        function
	getErrorName, getErrorString                                                function
}

// symbols are their names in the library. If a function has changed its form, use the versioned
// name that cuda.h maps it to: the plain name is an older function.
func (a *api) symbols() []symbol {
	return []symbol{
		{&a.init, "cuInit", ""},
		{&a.driverGetVersion, "cuDriverGetVersion", ""},
		{&a.deviceGetCount, "cuDeviceGetCount", ""},
		{&a.deviceGet, "cuDeviceGet", ""},
		{&a.deviceGetName, "cuDeviceGetName", ""},
		{&a.deviceTotalMem, "cuDeviceTotalMem", "_v2"},
		{&a.deviceGetPCIBusID, "cuDeviceGetPCIBusId", ""},
		{&a.primaryCtxRetain, "cuDevicePrimaryCtxRetain", ""},
		{&a.primaryCtxRelease, "cuDevicePrimaryCtxRelease", "_v2"},
		{&a.ctxSetCurrent, "cuCtxSetCurrent", ""},
		{&a.memHostAlloc, opHostAlloc, ""},
		{&a.memFreeHost, "cuMemFreeHost", ""},
		{&a.memHostRegister, opHostRegister, "_v2"},
		{&a.memHostUnregister, "cuMemHostUnregister", ""},
		{&a.memAlloc, "cuMemAlloc", "_v2"},
		{&a.memFree, "cuMemFree", "_v2"},
		{&a.memcpyHtoDAsync, "cuMemcpyHtoDAsync", "_v2"},
		{&a.memcpyDtoHAsync, "cuMemcpyDtoHAsync", "_v2"},
		{&a.streamCreate, "cuStreamCreate", ""},
		{&a.streamDestroy, "cuStreamDestroy", "_v2"},
		{&a.streamSynchronize, "cuStreamSynchronize", ""},
		{&a.streamWaitEvent, "cuStreamWaitEvent", ""},
		{&a.eventCreate, "cuEventCreate", ""},
		{&a.eventDestroy, "cuEventDestroy", "_v2"},
		{&a.eventRecord, "cuEventRecord", ""},
		{&a.eventQuery, "cuEventQuery", ""},
		{&a.eventSynchronize, "cuEventSynchronize", ""},
		{&a.getErrorName, "cuGetErrorName", ""},
		{&a.getErrorString, "cuGetErrorString", ""},
	}
}

type symbol struct {
	function *function
	op       string
	version  string
}

// Flags, as in cuda.h.
const (
	hostAllocPortable    = 0x1 // page-locked for every context of the process
	hostRegisterPortable = 0x1
	streamNonBlocking    = 0x1 // does not wait for the stream 0 of other code
	eventBlockingSync    = 0x1 // who waits sleeps instead of spinning on a core
	eventDisableTiming   = 0x2 // quicker to record
)
