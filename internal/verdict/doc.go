// Package verdict explains in one line how long training waited for data, for what, on which rank,
// and what to change.
//
// [Of] makes a [Verdict] of [Facts]: the waits of all ranks, and the figures of the nodes that
// serve them. It compares the ranks, finds the stragglers, takes the largest part of their wait,
// and looks up the cause in a table. Each row of the table has a condition on the facts, the
// figures that the line shows, and a cure.
//
// The package measures nothing and knows no sessions, stores or caches.
package verdict
