// Package counting has the result of count: [Rows] of a table, of each of its sources, and the
// tokens of its texts.
package counting
