// Package block has columns in memory, in the forms in which they were decoded, and gathers picked
// rows of many blocks into the arrays of a batch.
//
//	Block     decoded columns of a unit or a part of it: immutable, counted references, pooled memory
//	Vector    one node of a column: values in one of the forms below
//	Gatherer  copies picked rows to arrays; Cast and Stack change values on the way
//	Caster    the kernels that change values: numbers, halves, decimals, times, hashes of text
//	Stacks    matrices that blocks have in place of columns; a Stacker fills them as columns decode
//	Listing   makes flat lists of texts, in the form spread
//	Cutter    copies some rows of a vector, in an order
//	Guard     runs a gather from blocks in mapped files, and replaces blocks whose file is gone
//
// A vector has one of these forms. Those not named are nil or 0; Field, Len, Nulls and Valid are
// set in all.
//
//	form             kinds              fields
//	plain            Fixed              Data: Len values of Field.Width bytes
//	coded            Fixed, Binary      Codes, CodeWidth, and Dict, which is plain or views
//	views            Binary             Views, Base: byte strings of one text
//	spread           Binary, flat List  Views, Base, ChunkShift: bytes in chunks of many parts
//	flat             List of Fixed      Views, Base: the items of a list are one byte string
//	flat, one size   List of Fixed      Data, Stride: Len lists of Stride items
//	lists            List, Map          Offsets, Children[0]
//	lists, one size  List, Map          Stride, Children[0]
//	members          Struct             Children, with values at the same positions
//	null             any                Nulls is Len, and no storage; Valid is nil, children are null
//	slots            Fixed, Binary,     Slots, Slot, Step, Marks, MarkAt, Mark: values, codes (with
//	                 flat List          CodeWidth, Dict) or views (with Base) in records of an image,
//	                                    beside other columns; Valid is nil
//
// The items of a flat list are Fixed, and none is null; Children[0] has their field alone. A list
// of Fixed items of which some are null has the form lists, with plain items.
//
// Under a null, plain bytes are zero, a code is zero, a view has length 0 and a list has no items.
//
// The package starts no goroutines. Blocks may be gathered from by many goroutines, each with a
// Gatherer of its own.
package block
