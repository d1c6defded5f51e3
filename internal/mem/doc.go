// Package mem accounts for memory and pools it.
//
// A [Pool] hands out page-aligned buffers outside of Go's heap, backed by huge pages where the
// system gives them, and takes them back for reuse: touching fresh memory costs more than decoding
// into it. An [Arena] is the buffers of one owner, freed together. A [Budget] is the account of a
// stream's bytes by purpose; it is asked before memory is taken. The package imports nothing of
// ours.
package mem
