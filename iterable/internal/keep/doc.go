// Package keep keeps decoded row groups in the tier of a data set, so that later epochs need not
// decode them again.
//
// A [Keeper] works beside each stream: it decodes what the stream has read a second time and writes
// it to the tier, in memory that the stream leaves and in processor time that a governor allows.
// Only columns that are worth it are kept, by the time that was measured to decode them (gains).
// Blocks may be in images of the tier, which stay mapped between two of them (mappings).
// [Keeping.All] keeps a whole data set with all processors.
//
// The package knows row groups and memory, and neither orders nor streams.
package keep
