// Package montage draws images of rows as training has them on one page: decoded, cropped and changed,
// a tile for each image and epoch. The page is a PNG file that carries a mark, by which it is known.
package montage
