// Package resize scales a rectangle of RGB pixels of 8 or 16 bits with antialiasing, as Pillow and
// torchvision do: a [Filter] that widens with the scale, columns first, each direction rounded to
// 8 bits, or the last one to 16. Results differ from theirs by at most 1 of 255, and from
// torchvision's of floats by at most 1 of 65,535.
//
//	Span     one direction: which samples become which outputs, and which outputs are wanted;
//	         [Span.Nearest] lists the nearest samples
//	Resizer  runs two spans over pixels and hands out rows of the result
//	Row      a row of the result: three channels in each uint64; [Row.Planes] writes it to a
//	         tensor of uint8
//
// # Three channels in a word
//
// A pixel is a uint64 of r | g<<21 | b<<42. One multiplication by a weight of 13 bits and one
// addition serve all three channels, because sums need at most 21 bits: 255 x 8192 and the rounding
// are below 1<<21. Bicubic sums overshoot and can be negative: they take two words a pixel, r |
// g<<32 and b, weights of 21 bits, and a bias against borrowing. Weights of a pixel sum to exactly
// one, so flat areas do not change, and one multiplication fewer than samples is enough
// (kernels.go).
//
// Pixels of 16 bits take a word a channel, with weights of 32 bits, and 8 bits of fraction between
// the directions (deep.go). The same kernels sum them.
//
// # Vectors
//
// AVX2 code sums pixels of 8 bits in words of 16 (vector.go, vector_amd64.s), for bicubic weights
// in two parts: the same weights, sums and rounding, so that pixels are the same on every machine.
// A test compares the two. Others write 32 pixels at once to planes (planes_amd64.s).
//
// # Memory
//
// A Resizer keeps as many rows of the output's width as the vertical filter has taps, and one of
// the input's. It is for one goroutine.
package resize
