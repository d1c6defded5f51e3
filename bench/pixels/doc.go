// Command pixels measures how much processor time images take, with one goroutine:
//
//	pixels --files DIR --do WHAT [--decoder turbo|go] [--count N]
//
// WHAT is decode, uint8, float32, eval, jitter or bicubic.
//
// The files of DIR are read first, and then decoded in turn, without or with the random crop and
// the flip of ImageNet's training to 224 x 224. It prints one JSON object.
package main
