// Package transform changes the columns of a unit that was just decoded, before its rows become
// samples.
//
//	Columns  the steps that change them, bound to a schema, and the schema that results
//	Words    a step: the numbers of texts in a vocabulary
//
// Columns are immutable, and goroutines share them. A step takes the memory of the new values from
// the blocks. The package starts no goroutine.
package transform
