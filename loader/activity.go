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

// An activity says what the loader does for a batch, for another goroutine that wonders why it takes
// so long: a stage, and which of the columns, paddings or transforms.
type activity struct {
	v atomic.Uint32
}

func (a *activity) set(s stage, i int) { a.v.Store(uint32(s)<<24 | uint32(i)&0xffffff) }

func (a *activity) get() (stage, int) {
	v := a.v.Load()
	return stage(v >> 24), int(v & 0xffffff)
}
