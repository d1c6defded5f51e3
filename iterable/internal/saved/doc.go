// Package saved has the files by which a run pins its data, or passes what it found to another one.
//
//   - A [Plan] pins the shards and the order of a run. Its file has the footers of the shards too, so
//     that a start reads only this file (bundle.go has the format, byte by byte).
//   - A [Manifest] lists shards, and pins nothing of the order.
//   - [LaneNotes] keep which lanes a node has read, for its next start.
//   - An [Inventory] passes what one node found when it opened a data set to the other nodes.
//
// The package reads and writes, and checks what it reads. It opens no data set.
package saved
