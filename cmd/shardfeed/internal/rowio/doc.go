// Package rowio reads rows by their numbers, and formats them for people and programs.
//
// [Take] reads rows of a data set, many at once, within a bound of memory. A [Format] turns them
// into JSON lines, CSV or Arrow, and a [Table] into a table whose long values [ShortColumns] may
// have shortened. It starts no goroutine.
package rowio
