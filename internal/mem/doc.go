// Package mem accounts for memory and pools it.
//
// A [Pool] hands out page-aligned buffers outside of Go's heap, backed by huge pages where the
// system has them ready, and takes them back for reuse: touching fresh memory costs more than
// decoding into it. A pool of a [Budget] keeps the memory of an epoch for the next one, until a
// reservation needs the room. An [Arena] is the buffers of one owner, freed together. A Budget
// admits streams, each with an [Account] of its bytes by purpose, which is asked before memory is
// taken. A [Turn] is a batch's place in the line for memory that the account did not reserve. The
// package imports nothing of ours.
package mem
