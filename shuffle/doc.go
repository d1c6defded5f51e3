// Package shuffle makes the order in which rows are trained on: "lane-tick/1", a pure function of a manifest, parameters, a seed, an epoch and a
// position, in integers only.
//
// A [Manifest] says what the data is, [CutUnits] cuts its row groups into units, [Options] choose [Params] by a frozen rule, and [New] makes the
// [Plan]. A plan has epochs, an [Epoch] has lanes, and the [Iter] of a [Lane] tells tick by tick which units must be there, which rows leave in
// which order, and which units are done. A [View] says which rows of which lanes a worker takes in a step, [Steps] how many steps there are. A
// [State] is where training stands. A [Sequence] is the order without shuffle.
//
// The package imports nothing of ours, reads no clock and no file, starts no goroutine and allocates nothing per row.
package shuffle
