// Package image keeps decoded row groups in the files of a tier, and finds them again.
//
//	Shards   the shards of a tier that are open, and Shard, the images of one of them
//	Painter  lays the columns of a row group out as an image, through a Window
//	Image    the header of an image, which makes vectors that use its bytes in place
//	Mapped   the images that are lent, each once for all users
//
// The bytes of an image are described at [Image]. An image is verified before its first use and
// when its file was written to since; one that is damaged is dropped, and its row group decoded
// from the shard. The package starts no goroutines, and all but Painter and Window is safe for
// concurrent use.
package image
