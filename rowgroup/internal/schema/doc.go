// Package schema gives the columns of parquet files their meaning, and makes one schema of many.
//
//	File       columns of files with one schema: a tree of Nodes whose Leaves have levels
//	Union      columns of all files, united by name: Unite, then Settle types that options need
//	Project    the part of a union that a run reads; Bind finds it in the tree of a File
//	Partition  columns that directory names give
//	Leaf       one primitive column: Values decodes its stored values to values of a Field
//
// Types widen where no value is lost (union_types.go), and bound leaves are recast to the type of
// their column. The lengths of lists and the shapes of tensors come from Arrow's schema in the
// footer (arrow.go, arrow_tensor.go). The package reads no files.
package schema
