// Package turbo decodes JPEG with libjpeg-turbo 3, loaded at run time: [Load] looks for it, and
// neither cgo nor a C compiler is needed to build. What it cannot decode, other formats among
// them, goes to the Go decoder of images/codec.
//
// The library is called through purego, in one file, driver.go, on Linux on amd64 and arm64. With
// the build tag noturbo, and everywhere else, Load returns an error and nothing of purego is
// linked.
//
// # Which library
//
// $SHARDFEED_LIBTURBOJPEG if it is set; else libturbojpeg.so.0 in the program's directory,
// which is where the wheel has it; else the system's. Version 3.0 is the first that will do:
// version 2 cannot decode a part of a picture and has no limits.
//
// # Processors
//
// A picture takes longer in C than the Go scheduler likes: where all of GOMAXPROCS places are taken
// it moves the goroutines that decode from thread to thread, which costs two cores a fifth of their
// time. A program of one's own that decodes much calls runtime.GOMAXPROCS with twice the number of
// its processors, and sets loader.Options.Workers and ImageParallel to that number; the command
// does so.
//
// # Rules of the library
//
// A handle serves one thread at a time, and each Decoder has one. It is replaced after an error: a
// file that fails in its header would otherwise be prepended to the next. Functions return their
// errors: the library's longjmp never leaves it. Warnings about the data are errors, because the
// pixels after them are invented; the one exception is stray bytes between segments, which are
// harmless.
//
// Fancy upsampling at the edge of a partial decode lacks its neighbors, so Decode takes one MCU
// more on both sides: it returns the pixels of a whole decode.
package turbo
