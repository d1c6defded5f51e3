package rowgroup

import (
	"sync/atomic"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// A common is memory that the blocks of a unit's parts share: dictionaries, and columns whose rows
// cannot change places. It goes with the last of them. One of them counts it.
type common struct {
	arena  *mem.Arena
	bearer *Block
	users  atomic.Int32
}

// bytesOf is what a block counts of the memory.
func (c *common) bytesOf(b *Block) int64 {
	if c == nil || c.bearer != b || c.users.Load() == 0 {
		return 0
	}
	return c.arena.Bytes()
}

// leave ends the use of one block.
func (c *common) leave() {
	if c != nil && c.users.Add(-1) == 0 {
		c.arena.Free()
	}
}
