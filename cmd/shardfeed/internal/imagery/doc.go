// Package imagery finds the images among the binary values of data, and shows them by their
// headers.
//
// Find names the columns of images by their first rows. Facts replace images by what their headers
// say, and write the files of images into a directory. A Sampling summarizes images of a few places
// of a table. Nothing decodes pixels, and the package starts no goroutine.
package imagery
