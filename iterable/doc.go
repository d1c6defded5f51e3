// Package iterable reads a data set in training order: shards that addresses name become the rows
// of each step, shuffled or in file order, for one worker of any number of ranks.
//
// [Open] makes a [Dataset], [Dataset.Stream] a [Stream] for one worker, [Stream.Next] a [Draw]: the
// worker's rows of the next step, as picks of decoded blocks. The order is that of package shuffle
// and a pure function of the data, the seed, the epoch and the position; the state after a draw
// ([Stream.State]) lets a run go on at any world size.
//
// The way of the data through the package:
//
//	schedule   lists the loads of a stream (spans of units) in the order of need; pure
//	read-ahead admits them to the account, fetches, decodes and transforms (internal/ahead)
//	await      takes them into the shuffle buffer when the order needs them
//	walk       goes through the order and picks rows
//	draw       holds the picked rows until it is released; what is no longer needed is freed then
//
// A blend (blend.go) makes the samples of a data set of its sources: of one (single.go), or of a
// mixture. It also makes the order of an epoch (order.go): that of a plan's lanes (plan_order.go,
// schedule.go, walk.go), of the files (files.go), or of a mixture (mixture_order.go). What one
// worker reads of an order is a portion: a bound, a schedule and a walk.
//
// # Rules
//
// The filter, the function, the part, the rows list and the weight of the options are one rule,
// which decides how often each row comes. Rules, and the counting of their samples, are in
// internal/samples. A row that comes is a sample, and the order counts samples, so their number in
// each unit is known before the first step. Open counts (internal/samples/count.go): by arithmetic
// where row numbers alone decide; else it reads the columns of the rule, and no others, for the
// units that partition values, statistics and pages do not decide (internal/samples/prune.go).
// Counts are kept beside the footers (internal/samples/counts.go,
// internal/samples/counts_segment.go), where nodes share them, and in saved plans. Nothing else is
// kept: a load evaluates the rule again (internal/samples/selector.go), and fails when it does not
// have the samples that were counted.
//
// Pack and Bucket are the last stage of a rule: they make samples of several rows of a unit
// (internal/ahead/pack.go). Their number follows from the rows' lengths, which a column, the
// footers or the levels of the lists tell (internal/samples). A load decodes its whole unit, lays
// the documents out in the order of the epoch, and drops the unit; what follows knows rows of fixed
// size, or lists of rows.
//
// # Sources
//
// A data set of several sources (sources.go) is a mixture: each source (source.go) has shards, a
// rule and a plan of its own, under one schema and one account. The order of the mixture
// (mixture.go) says of which source each sample of a lane is, so a stream merges the loads of the
// sources by the sample at which each is needed (mixture_schedule.go), and its walk has a place in
// each lane of each source (mixture_walk.go). With steps of one source each the sources have lanes
// of their own, and the walk goes from step to step. What a stream reads of a mixture is in
// mixture_reader.go, the tokens that weights may count in mixture_tokens.go. A source that fits its
// part of the shuffle buffer is decoded once and stays (mixture_kept.go). The bounds of the sources
// add (mixture_bound.go).
//
// # Memory
//
// A stream computes its bound before it reads (bound.go) and reserves it whole, or is refused with
// the numbers. The bound counts each lane at its worst. A span becomes a block for each of up to
// sixteen parts, by the order in which its rows leave, and each is freed when its last row has
// left; only dictionaries and nested columns stay from the tick in which it arrives to the tick in
// which its last row leaves. On top come the rows of the draws that may be out, the loads that are
// on their way, and the batches that the layer above asks room for. Loads are read ahead while the
// account has room; one that the order waits for is always admitted, and then the bound holds it. A
// consumer that stops taking draws stops the reading. Texts that only tokens need are scratch.
//
// Loads take their memory in the order of the schedule: see package internal/ahead. What the stores
// below hold is part of a stream's memory as Options.StoreMemory says.
//
// # Tier
//
// With Options.Tier a stream tries to reserve the bound of blocks that are not divided (reserve in
// bound.go). Where there is room, a load whose row group is kept decoded becomes a block that lies
// in the mapping of its image, in the order of the file, and its rows are found by their order
// (internal/ahead/layer.go); else its rows are copied as decoded ones are. A load whose image turns
// out to be damaged is fetched again without it. Images stay mapped from epoch to epoch in half of
// the memory that is left, as long as no other stream needs it. A keeper writes to the tier beside
// the stream, and never delays a load: see package internal/keep. Tokens are kept in place of their
// texts, under a name that contains the tokenizer and its options, and loads copy them.
//
// # Rows by number
//
// [Dataset.Taker] makes a [Taker], which returns draws of rows that the caller names by number
// (take.go). Units are those of the plan. The taker owns a cache of decoded units
// (internal/unitcache): it reserves the memory for them when it is made, never holds more, and
// drops the least recently used units. A call takes the room for all its units at once, so calls
// never wait for each other in a ring. A unit that several calls want is decoded once, in a
// goroutine that the taker waits for in Close; one that fails is not kept.
//
// # Time
//
// Nothing that takes part in the order looks at a clock or at what is ready first. Epochs follow
// each other in one schedule, so the first units of the next epoch are read while the last of this
// one drain.
package iterable
