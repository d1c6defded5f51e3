// Package codec decodes images: the header of a file, and a rectangle of its pixels as RGB.
//
//	ReadHeader  Header: format, size, orientation, and the cost of decoding, from the first bytes
//	Decoder     decodes a rectangle, at full size or 1/2, 1/4, 1/8 of it
//	Go          the decoder that is always there: image/jpeg, image/png, image/gif, x/image/webp,
//	            x/image/bmp and x/image/tiff, with libjpeg-turbo's chroma upsampling, CMYK,
//	            libwebp's colors, and Pillow's first frames
//	Limits      what a file may ask for, checked before memory is allocated for it
//
// images/turbo is the fast Decoder, on libjpeg-turbo. Another can be written: a Decoder is all
// that package images needs.
//
// # Pixels
//
// Pixels are 8-bit RGB, 3 bytes a pixel, rows without padding. Gray is repeated, alpha dropped, 16
// bits lose their lower 8 unless [Deepener] keeps them, palettes are looked up, CMYK and YCCK
// (inverted, as Adobe writes them) become C*K/255 and so on, as in
// torchvision.io.decode_image(mode=RGB). Color profiles are ignored. [Go.Samples] has the one
// channel of gray pictures and palettes as it is stored: 8 or 16 bits, and indices in place of
// colors. Width and height describe the stored picture, and [Header.Orientation] how to turn it.
//
// # Damage
//
// Decoders accept bytes of any origin. A damaged or truncated file is an [Error] and never a panic,
// and decoding takes at most [Header.Memory]. A JPEG without its end marker counts as truncated for
// every crop, so that a file does not fail by the crop.
//
// # Goroutines
//
// A Decoder keeps scratch memory and is for one goroutine at a time. Nothing starts a goroutine.
package codec
