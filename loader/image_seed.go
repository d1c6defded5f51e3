package loader

// ImageSeed is the seed of a row's image for images.Augmenter.Apply, as batches have it: column is
// its name in Options.Images, row and source are what a data set with RowIDs says of the row.
func ImageSeed(seed uint64, epoch, row int64, source int32, column string) uint64 {
	first, _ := rowKey{seed: seed, epoch: epoch, source: source, row: row, transform: imageNumber(column)}.pcg()
	return first
}
