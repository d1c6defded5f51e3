// Package cuda is NVIDIA's driver as a gpu.Device. The driver is looked for when [Load] is called; neither CUDA nor cgo is needed to build.
//
// On Linux on amd64 and arm64 the driver's library is called through purego, in one file, driver.go. Everywhere else, and with the build tag
// nocuda, Load returns gpu.ErrNoDriver and nothing of purego is linked: such a program is static.
//
// The rules of the driver that the package keeps: the primary context, which other CUDA code of the process shares, is made current in each
// call on a locked thread; asynchronous copies only read memory that is the driver's or registered with it; events block, and do not spin.
package cuda
