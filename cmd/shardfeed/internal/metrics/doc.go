// Package metrics serves the figures of an engine to Prometheus.
//
// Each scrape takes one snapshot of the engine, so that its numbers belong together and nothing is
// counted twice. Counters never fall while the engine lives. Labels have few values: ranks, causes,
// purposes, kinds of stores; no address of a shard. docs/metrics.md lists the names, and a test
// compares it with the table in this package.
package metrics
