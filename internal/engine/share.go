package engine

import "github.com/shardfeed/shardfeed/loader"

// newSplit returns the split of a share of images; nil without one.
func newSplit(share *float64) *loader.ImageSplit {
	if share == nil {
		return nil
	}
	return loader.NewImageSplit(*share)
}

// divides reports whether a split has a share now.
func divides(s *loader.ImageSplit, share *float64) bool {
	if s == nil {
		return share == nil
	}
	return share != nil && s.Share() == *share
}
