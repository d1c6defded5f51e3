// Package column describes columns: a [Schema] of [Field] nodes, and an [Array] with the values of
// one of them in Arrow's layout.
//
// It is the data model that the layers of the library share: rowgroup makes arrays,
// loader collates them, gpu copies them to devices. It imports nothing of ours and holds no memory
// of its own: the maker of an array asks an [Alloc] for its buffers.
//
// [Values], [Lists] and [Bytes] are views of an array's memory as Go values; [Strings] copies.
package column
