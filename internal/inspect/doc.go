// Package inspect reports what the footers of shards say, and what should be written
// differently. It is what the command inspect shows.
package inspect
