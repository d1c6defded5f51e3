// Package cache keeps bytes of remote shards on a local disk, so that later epochs and later jobs
// read them there.
//
// A [Cache] is one process's use of a directory; any number of processes of one host share it.
// [Cache.Wrap] returns a store around a store: it serves held bytes from the disk, verified on
// every read, and fetches missing ones, which it gives to the reader and writes to the disk in the
// background. [Cache.Fill] fills ahead of time, in the room that [Cache.RoomFor] finds and
// [Cache.Trim] makes. [List], [Usage], [Verify], [Collect] and [Clear]
// maintain a directory and never ask a source.
//
// [Cache.OpenDecoded] returns a [Decoded]: bytes that the caller decoded from a shard, kept in a
// file beside the shard's. They are evicted first, because they can be made again from the shard's
// own bytes.
//
// Bytes of columns are read with ReadRanges and Lend, which fill the cache. ReadAt serves held
// bytes and fills nothing: it reads footers, whose parsed form an index keeps. [Cache.WrapSmall]
// keeps small shards whole while their footers are read, if requests of their store are scarce.
//
// A Cache never serves a byte that differs from the fetched or decoded one or belongs to another
// version of the shard, never stops training because the disk is full or fails, never exceeds its
// limit, never calls fsync, and never keeps an idle file open for more than half a minute. Decoded
// files are verified less often than shards; see Protocol.
//
// Memory: the bytes that wait for the disk ([Options].Pending; at that bound a read waits at most a
// second, and then drops the fill), one block for each read under way, and the tables of at most
// 256 idle files and those in use (8 bytes for 64 KiB of a shard, 16 of decoded bytes). A file is
// mapped once for all its leases; the pages of a lease leave the process's resident memory when it
// is released. [Decoded.ReadAhead] maps at most 4 MiB at a time. Goroutines: four writers and one
// that closes idle files, from [Open] to [Cache.Close].
//
// # Directory
//
// Everything is below v1 in the directory that the user names.
//
// Another user must not decide what is read or where writes go. Open and the maintenance functions
// refuse a v1 that is a symbolic link, that belongs to a user other than this one or root, or that
// its group or others can write to. The same rules hold for each file below it; a shard file that
// breaks them is removed and fetched again. The cache creates directories with mode 0700 and files
// with mode 0600, whatever the umask, and never changes a mode: after chmod -R go-w, a v1 that was
// writable by others is good again. v1 stays open as long as the Cache, and all names are resolved
// below it, so a link that takes its place leads nowhere.
//
// A v1 that is trusted and read-only, such as one that root filled before the job, is read: hits
// are served, nothing is written, evicted or stamped, and Open reports it once. Each process that
// finds a damaged block fetches it again.
//
//	v1/CACHEDIR.TAG           backups leave the directory out (https://bford.info/cachedir)
//	v1/usage                  the account that all processes share; see below
//	v1/evict.lock             locked exclusively, by flock(2), while shard files are removed
//	v1/a/ab…-…                one shard at one version: 24 hexadecimal digits of SHA-256 of its address, a dash, and as many of
//	                          its size in decimal, a zero byte and its version; a is the first digit
//	v1/da-form/…-…            what is decoded of it in a form: the first 24 digits backwards, the dash and the other 24; a is the
//	                          first digit of the shard's file
//	v1/a/ab…-….new-*          a shard file in the making, on file systems without unnamed files; it and v1/try-* are removed
//	                          a minute after their process was killed
//
// The address is the store's identity of it, without secrets: two spellings are one shard. A shard
// without a version or without bytes is never cached. A shard that changes has another version, and
// therefore another file.
//
// Releases that do not know decoded files take them for shard files of shards with other addresses.
// They count them, evict them by their stamps, and never serve them, because the header has another
// magic. They would remove a name that is not made of two times 24 digits as a leftover, and
// mistake one with the 24 digits of the shard for a newer version of it.
//
// # Shard file
//
// Numbers are little-endian, except the words of the table, which have the machine's byte order.
//
//	offset  bytes      what
//	0       8          "SFCACHE1"
//	8       8          size of the shard
//	16      4          size of a block, 65536
//	20      4          size of the header, H: the least multiple of 4096 that holds it
//	24      4          length of the address, U
//	28      4          length of the version, V
//	32      4          CRC-32 of bytes 0 to 32 and 64 to H
//	36      4          times that a block was found damaged
//	40      8          time of the last use, nanoseconds since 1970
//	48      8          time until which the shard is kept
//	56      8          number of the Cache that set it
//	64      U          address
//	64+U    V          version, and zeros up to H
//	H       8n         table: one word for each of the n blocks of the shard
//	D       size       the shard's bytes at their own offsets, holes for unwritten bytes; D is the next multiple of 65536
//	                   after the table
//
// A word of the table describes the run of bytes that is held of a block. A block holds at most one
// run, so that exactly the bytes that a projection asks for are fetched and stored, wherever blocks
// end.
//
//	bits    what
//	0-31    CRC-32 (IEEE 802.3) of the run
//	32-47   first byte of the run in the block
//	48-63   last byte of the run in the block
//	all 0   nothing is held
//
// Header and table are allocated when the file is made, so that a full disk cannot take their
// mapping away. The header's sum does not cover the three words of the stamp, which each process
// writes at most once a minute. They are kept here and not in the file's times, which other
// programs and mount options change. The time until which a shard is kept only grows, unless the
// Cache that set it shortens it.
//
// # Decoded file
//
// A decoded file differs from a shard file in this:
//
//	offset  bytes      what
//	0       8          "SFDECOD1"
//	8       8          size of the space of decoded bytes
//	64+U    V          form, a zero byte, size of the shard in decimal, a zero byte, its version, and zeros up to H
//	D       size       decoded bytes, with holes for unwritten ones
//
// The cache does not know what the bytes mean. The user lays them out, such that offsets follow
// from the shard's version, and aligns each piece to a block: a run starts at its block's first
// byte, and a word that describes another run is damage. Two layouts must differ in their form; a
// file of the same form and another size is stale.
//
// # Protocol
//
//  1. Open: open(2), then flock(2) LOCK_SH until the file is closed. The file must still have a
//     link, and its length and header must match the key. A process that gets the exclusive lock of
//     a file that does not match removes it. A missing file is made without a name (O_TMPFILE),
//     complete except for data and locked, and then linked to its name; the link fails if another
//     process was first.
//  2. Read: load the word, read the run, compare the sum; no lock. Held bytes stay true while
//     others are added beside them. If the sum differs and the word is still the same, the word is
//     set to zero by compare-and-swap and the bytes are fetched again, at most three times for one
//     read. A lease is a mapping, which shows later writes to the file, so it is verified after its
//     use and before its release. A word that was set to zero is counted in the header, before the
//     bytes are fetched again: if the count differs from that at the lending, the lease may have
//     shown damaged bytes, though they are whole again.
//     Discard sets words to zero in the same way, of bytes that have the right sum and cannot be
//     decoded: they were damaged before they came.
//  3. Miss: claim the blocks within the process, lock their words with F_OFD_SETLK between
//     processes, look again, fetch, copy to pending memory, give the bytes to the reader. A writer
//     reserves space, writes the data, then the words, and unlocks. A run grows to include the new
//     bytes and all between; its sum is computed from the sums of its parts, so bytes that have
//     rotted meanwhile are still found.
//  4. A reader waits for blocks that others have claimed or locked after it has fetched its own:
//     for the end of a goroutine's fill, or by looking every 2 to 20 ms. After ten seconds without
//     progress (longer for many bytes) it fetches the bytes and does not keep them.
//  5. The kernel releases all locks of a process that ends, however it ends, so there are no stale
//     locks. Data without a word are not held; a word without its data, after a power loss, has a
//     sum that differs.
//  6. Decoded bytes are kept as missed ones are filled: the process that has claimed and locked
//     the blocks writes them, and others skip the blocks and do not wait. A lease of them is a
//     mapping. It compares the sum of a block once for as long as the process has the file open,
//     and again when the word of the block changes. It compares the length of the file each time.
//     So a process finds damage on the disk when it next opens the file; it closes idle ones after
//     half a minute.
//  7. Trim: with the same locks as a removal, so that no process has the file open, the words are
//     cut to the runs that stay, and then fallocate(2) makes holes of the pages between them. A
//     process that is killed in between leaves data without a word.
//  8. A shard file is never truncated. It is removed by unlink(2) with the exclusive locks of
//     evict.lock and of the file itself, so no process has it open. If another program truncates
//     it, its mappings fault, and a fault becomes a miss (see shard.Guard). Each lease compares the
//     file's length; a file that was cut is closed, removed and made again.
//
// # Account and eviction
//
//	offset    bytes  what
//	8         8      bytes on the disk, and reserved
//	16        8      time before which a scan for evictions is useless
//	24        8      limit of the Cache that was opened last
//	32        8      bytes of decoded files on the disk, and reserved; part of those at 8
//	40        8      time before which a scan for evictions is useless for decoded bytes
//	4096+8i   8      bytes that process i has reserved; it locks these bytes with F_OFD_SETLK
//	8192+8i   8      bytes of decoded files among them
//
// A writer adds to its own word, and then to the sum of all by compare-and-swap unless that would
// exceed the limit. For decoded bytes it does so with the words of decoded files too, below
// [Options].DecodedLimit. At the limit one process scans all files, corrects the sum (their bytes
// on the disk, and the words of living processes), and removes superseded versions of shards first,
// then decoded files, and then shards, of each the least recently used first. Shards go as far as
// the policy allows: [Keep] evicts a shard when its time is over, [LRU] any that is not in use.
// Decoded files go for a shard whenever they are not in use. For decoded bytes, which reach a limit
// sooner, go superseded versions, as far as the policy allows for shards, and decoded files whose
// time is over. A version is superseded when another one of the shard was used after it and after
// its decoded bytes. If nothing may go, new bytes are not kept. The same happens when less than
// [Options].MinFree of the file system is free.
//
// A process that fills a cache with what it will read gives [Cache.RoomFor] these shards. From then
// on it does not evict them. If evicting others is not enough, [Cache.Trim] frees their other
// bytes, of files that the policy would evict. [Cache.Fitting] bounds the space of a fill. No other
// eviction splits a file: stamps belong to files, so bytes that another process still reads cannot
// be told from unused ones.
package cache
