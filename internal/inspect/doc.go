// Package inspect reports the contents of shards' footers, and advice for writing them, for the
// command inspect.
package inspect
