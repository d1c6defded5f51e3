// Package ahead reads the loads of a schedule before their consumer needs them: it admits them to
// an account of memory, fetches and decodes them, and lays out their blocks.
//
// A [Load] is rows that are fetched and decoded at once. A [Reader] takes loads from a [Schedule].
// Its consumer, one goroutine, receives them in the order of the schedule ([Reader.Next]), waits
// for the ones that it needs ([Reader.Await]), and takes their blocks ([Reader.Take]) or drops them
// ([Reader.Drop]).
//
// # Memory
//
// Loads take the memory of their bytes in the order of the schedule and only then a fetcher, whose
// requests wait in the store's own line, which is first in first out. They take the memory of their
// blocks in the same order (admission.go), so that bytes may be fetched far ahead of a network
// while blocks stay few; the first fetched load in the schedule is decoded first. So any number of
// fetchers (fetchers.go) leaves the bound as it is, and no load delays the one that is needed next.
// Few loads are on their way where a disk or a cache lends their bytes (throttle.go).
//
// A decoder asks for the memory of a block beyond its estimate before it takes it (Reader.more). A
// load that is not needed yet may be refused: it is parked then (parking.go) and decoded once it is
// needed. Loads that follow are taken to be as much larger (excess). A load or a batch that is
// needed now evicts loads that were read ahead (evictable.go) before it is refused.
//
// Streams of one data set account for themselves, also if they share one block: in file order the
// ranks of a process that go in step decode each row group once (sharing.go).
//
// # Goroutines
//
// [Reader.Start] starts all goroutines, and [Reader.Close] waits for them: one admits, some fetch,
// some decode, one hands parked loads to the decoders. A load belongs to one goroutine at a time.
//
// # Trails
//
// Each load keeps a trail of the causes of its delay: memory (room), its bytes (storage, cache),
// decoders and decoding (decode). [Reader.Await] adds the part of it during which the consumer
// waited to the consumer's trail; a consumer that waits for nothing reads no clock. While a trace
// follows the stream, loads are recorded with their trails when they are ready.
//
// The package knows row groups, rules and memory, and neither data sets nor orders.
package ahead
