// Package samples finds the samples of row groups: which rows come, and how often.
//
//   - [Bind] makes the [Rules] of options for a manifest: a filter, a part, a list of rows, a
//     weight, and a [Packing] that makes samples of several rows.
//   - A [Selector] applies rules to rows whose columns are decoded.
//   - [Data.Read] reads the columns of rules, and nothing else, as far as statistics do not decide
//     (prune.go).
//   - [Data.Count] counts the samples of units: by arithmetic, from counts that an earlier start
//     kept (counts_segment.go has the format, byte by byte), or by reading.
//   - [DeletedRows] keeps deleted rows of tables with the counts.
//
// The package knows row groups, and neither orders nor streams.
package samples
