package resize

// packPlanes writes n pixels of a Row of 8 bits, a multiple of 32, to three planes: 32 at a time,
// a step of 32 or -32 bytes apart. A negative step reverses them.
//
//go:noescape
func packPlanes(red, green, blue *byte, row *uint64, n, step int)

// packPlane is packPlanes of the first channel.
//
//go:noescape
func packPlane(o *byte, row *uint64, n, step int)
