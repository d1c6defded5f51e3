package loader

import "sync/atomic"

// A stage is a part of the making of a batch.
type stage uint8

const (
	stageQueue stage = iota // no worker has it yet
	stageMemory
	stageRead
	stageImages
	stageGather
	stagePad
	stageTransform

	stages = iota
)

var stageNames = [stages]string{"queue", "memory", "read", "images", "gather", "pad", "transform"}

// An activity is the loader's current work on a batch, read by another goroutine to explain a long
// wait: a stage, and the index of the column, padding or transform.
type activity struct {
	v atomic.Uint32
}

func (a *activity) set(s stage, i int) { a.v.Store(uint32(s)<<24 | uint32(i)&0xffffff) }

func (a *activity) get() (stage, int) {
	v := a.v.Load()
	return stage(v >> 24), int(v & 0xffffff)
}
