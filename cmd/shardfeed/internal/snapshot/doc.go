// Package snapshot shows the snapshot of a table that a verb reads.
package snapshot
