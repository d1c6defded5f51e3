package rowgroup

// A Layout defines the order of rows in blocks. The zero value is one block, in the file's order.
type Layout struct {
	// Parts is the number of blocks, through which the order goes one after another; 0 means 1.
	// Part gives each row of the unit its part, 1..Parts; entries of rows that no block holds are
	// ignored. It is not needed for one part.
	Part  []uint8
	Parts int
	wide  int // bytes a row from which a column is spread over the memory of parts as it is decoded; 0 means 512, which tests lower

	// Order is the rows of the unit that the blocks hold, in this order: row i of all blocks is row
	// Order[i] of the unit. It may be reused after Decode. nil is all rows in the file's order; an
	// empty one gives empty blocks.
	//
	// If Order has fewer than half of the unit's rows, the blocks hold memory for those rows only.
	Order []uint32

	// Stacks are matrices to make of columns; nil makes none. Columns that are in these alone are
	// not in the blocks.
	Stacks *Stacks

	// InImage lets the one block without an order have columns where the tier lent them. Gathering
	// from it touches a mapping then, inside shard.Guard.
	InImage bool
}
