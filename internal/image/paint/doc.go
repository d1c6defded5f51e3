// Package paint changes the pixels of an image in memory, by the operations of images/augment. The
// results equal torchvision.transforms.v2.functional's on uint8 tensors. Hue, blur and bilinear
// samples differ from them by at most 1 of 255.
//
//	Canvas  the pixels, and scratch memory, for one goroutine
//
// A Canvas allocates when it grows, and nothing for an image of a size that it had before.
package paint
