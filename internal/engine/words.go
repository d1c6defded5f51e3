package engine

import (
	"os"
	"sync/atomic"
	"unsafe"
)

// wordsLine keeps what two processes write out of one cache line, and of the pair of lines that
// some processors fetch together.
const wordsLine = 128

// wordsStride is the bytes of a reader's words: the flag wanted in a line of its own, which the
// engine writes, and a word for each slot, which the trainer writes.
func wordsStride(slots int) int { return wordsLine + (slots*8+wordsLine-1)/wordsLine*wordsLine }

func wordsSize(slots, readers int) int {
	page := os.Getpagesize()
	return (readers*wordsStride(slots) + page - 1) / page * page
}

// wordsAt returns the offset of a reader's words in the generation's memory.
func (g *generation) wordsAt(reader int) int { return g.slots()*g.size + reader*wordsStride(g.slots()) }

// wanted is not 0 while the engine wants to hear of the reader's releases.
func (g *generation) wanted(reader int) *atomic.Uint64 { return g.word(g.wordsAt(reader)) }

// waiting is the sequence number of the last batch that the reader had when it began to wait.
func (g *generation) waiting(reader int) *atomic.Uint64 { return g.word(g.wordsAt(reader) + 64) }

// released is the sequence number of the batch in the slot that the reader released last.
func (g *generation) released(reader int, slot uint32) *atomic.Uint64 {
	return g.word(g.wordsAt(reader) + wordsLine + 8*int(slot))
}

func (g *generation) word(at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(g.memory[at : at+8])))
}
