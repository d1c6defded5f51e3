// Package wait explains the time that a training loop waits for its batches: what held up each
// batch, at each instant.
//
// Whatever makes a batch keeps a [Trail]. A loop that waited for the batch from one time to another
// cuts the trail to that, so the parts of its wait, by [Cause], add up to the whole.
package wait
