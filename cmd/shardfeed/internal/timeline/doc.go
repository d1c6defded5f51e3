// Package timeline joins trace files, in the JSON of Chrome's trace events, on one timeline: traces
// of shardfeed and of torch.profiler, of one rank or of many.
//
// Times of a file count from its baseTimeNanoseconds. Numbers of processes, and of arrows between
// events, are unique in one rank of one host only, so the ranks that come later get other numbers.
package timeline
