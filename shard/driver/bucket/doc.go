// Package bucket lists stores without directories, whose objects have names such as a/b/c: buckets
// of S3 and of Google, containers of Azure. A driver defines one page of names and one look at an
// object, as a [Source]; a [Tree] is for driver.Walk.
//
// A name is first looked up as an object, then as a directory: so one object needs no right to
// list. The names below a directory are listed in pages, regardless of subdirectories; after some
// pages, directories are listed concurrently, without those in which a pattern matches nothing. A
// bucket that lists in no order is listed page by page. An object whose name ends with a slash
// marks a directory and is not a file.
//
// Goroutines end with the call that started them.
package bucket
