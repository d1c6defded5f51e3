// Package montage draws images of rows on one page, as training has them: decoded, cropped and
// changed, a tile for each image and epoch. The PNG file has a mark, by which it is known.
package montage
