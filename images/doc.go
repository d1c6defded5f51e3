// Package images turns the bytes of an image into a tensor: decoded, cropped, resized, flipped,
// jittered, normalised, and written once into the batch. Names and defaults match
// torchvision.transforms.v2.
//
//	Options    what is done to an image; ImageNetTrain and ImageNetEval are presets
//	Draw       the random part of it, a pure function of a row's seed and the picture's size
//	Augmenter  does it, for one goroutine, with a codec.Decoder
//	Task       describes an image to a device that decodes JPEGs
//	Shared     has augmenters for several results of a file, which is decoded once
//	Array      reads numpy's arrays in place of images
//
// # Draws
//
// The draw of a picture is its random part: the crop, the flip and the colors. A column draws, or
// shares another column's draw (Options.Like): a mask, a depth map or a second camera has the
// geometry of its picture, and its own channels, filter and type. The pictures of a row that share
// a draw have one size. A draw is a pure function of the options, the size and the seed, so columns
// share it by the same geometry and the same seed ([Options.Follow]). [Options.View] is the part of
// the picture that the result shows, crop, flip and letterbox in four numbers: boxes and points
// follow it.
//
// Options.Views and several options of one file have seeds of their own; [Shared] decodes the
// rectangle that they need together, at the smallest reduction that suits each.
//
// # The way of an image
//
//	header   codec.ReadHeader, and Limits: before memory is allocated
//	Draw     the crop in the picture as a person sees it, the flip, the jitter
//	decode   only the rectangle that the crop's filter touches, at 1/2, 1/4 or 1/8 where the crop
//	         is at least ReducingGap times as large after it
//	resize   with antialiasing, straight from the decoded rectangle (internal/image/resize), or by
//	         a nearest filter, which takes samples as they are, and of one channel the indices of a
//	         palette
//	jitter   on 8 bits, as torchvision on uint8 tensors
//	frame    a letterbox: the fill around the picture
//	augment  the steps of images/augment, on the flipped image (internal/image/paint)
//	write    flip, normalise and lay out in one pass, into the destination
//
// # 8 and 16 bits
//
// Rows have samples of 8 bits, or of 16 where the file has them and uint16 or floats are asked
// for; the writers' tables make elements of either. Rows of a uint16 tensor all have 16 bits:
// samples of 8 are multiplied by 257, except that masks, of one channel by a nearest filter, are
// as they are stored. Jitter and Augment change 8 bits: uint16 excludes them, and floats with them
// are made of the upper 8.
//
// # Random numbers
//
// An image has one seed of 64 bits, made of the dataset's seed, the epoch and the row, so that a
// resumed run on another world size repeats each crop. Crop, flip, jitter and each step of Augment
// use separate streams of random numbers: switching one on does not change the others. The crop's
// is stream 1, the flip's 2, the jitter's 3; images/augment numbers the steps'. Stream k of seed s is
// SplitMix64 (Steele, Lea, Flood, 2014) starting at mix(s + k), where mix is one output of it; a
// uniform number is the upper 53 bits of an output, a number below n the upper half of output x n.
// A stream's numbers are used in the order of torchvision's code. All of this is part of the
// promise that seeds repeat.
//
// # Packages
//
// images/codec reads headers and decodes in Go, images/turbo with libjpeg-turbo, and who calls
// [New] chooses: nothing here links the library. images/boxes moves boxes and points by a view.
// images/augment draws the steps of Options.Augment. The
// loader, the engine, the command and programs may import all of them; they import nothing of ours
// but internal/image and internal/option.
package images
