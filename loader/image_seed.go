package loader

// ImageSeed returns the seed of a row's image for images.Augmenter.Apply, as batches use it: column
// is the name in Options.Images, or the name of the column that it is like, row and source are the
// row's id under RowIDs, and number is of the view, or of the image in a list.
func ImageSeed(seed uint64, epoch, row int64, source int32, column string, number int) uint64 {
	first, _ := rowKey{seed: seed, epoch: epoch, source: source, row: row, transform: imageNumber(column) + number}.pcg()
	return first
}
