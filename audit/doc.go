// Package audit proves that each row of an epoch arrived exactly once, on any ranks.
//
// A [Sum] counts samples and adds up a hash of each, so it depends neither on the order in which
// they come, nor on ranks, batches and workers. A sample is named by its unit and its number among
// the samples of the unit, in the order in which a span of the unit emits them; see package
// shuffle. [Start.Hash] makes its hash, and [Key.Range] the sum of a range. Lost rows of package
// iterable's Losses are in the hash and have a count of their own, so delivered and lost rows
// together are the epoch. Rows of padding have only a count.
//
//	key    splitmix64 of the run's seed and the source of a mixture: mix(seed + mix(source * g + g))
//	hash   mix(key + (unit * 2^32 + sample) * g), g = 0x9e3779b97f4a7c15
//	mix    the finalizer of splitmix64
//	sum    of all hashes, mod 2^64
//
// A [Record] is the sum of the batches that one rank handed out between two positions of an epoch.
// A trainer's state carries its rank's own records of the epoch in progress and of the one before,
// and no others: states of different ranks differ in them, and any of them resumes on any world
// size. After a resume from only rank 0's state the run has only the records of rank 0 for the
// steps before, and [Check] reports these steps as not seen.
//
// A record is of one run. Once a state has more than eight runs of an epoch, its first two become
// one if they are of one world without a gap between: a rank without a record of both is left out.
// Else the first run is left out. Ranks that resumed at the same positions join the same runs, with
// the same [Record.Cuts].
//
// [Check] compares the records of an epoch with the order. Records of one world and the same
// positions make a segment; with one record of each rank it is complete, and its sum must be what
// the order has between its positions. Segments must neither overlap nor leave gaps. Records are
// compared as sets, so one that several states carry counts once.
//
//	fault                                       what shows it
//	a row is lost, repeated, or another's       the sum of the segment
//	a batch that the trainer did not hand out   the rank's rows, and the sum
//	a rank that resumed from an older state     segments of its world that overlap
//	a run that resumed from a newer state       a gap between segments
//
// The package reads nothing and starts no goroutine. A hash allocates nothing.
package audit
