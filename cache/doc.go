// Package cache keeps bytes of remote shards on a local disk, so that later epochs and later jobs read them there.
//
// A [Cache] is one process's use of a directory; any number of processes of one host share it. [Cache.Wrap] makes a store of a store: what
// is held comes from the disk, verified on every read; what is not is fetched, given to the reader, and written to the disk beside it.
// [Cache.Fill] fills ahead of time. [List], [Usage], [Verify], [Collect] and [Clear] keep a directory in order and never ask a source.
//
// Bytes of columns are read with ReadRanges and Lend, and fill the cache. ReadAt serves what is held and fills nothing: it reads footers and
// the like, of which an index keeps the parsed form.
//
// What it never does: serve a byte that differs from the fetched one, or is of another version of the shard; keep training from going on when the
// disk is full or fails; exceed its limit; fsync; keep a file open that was not used for half a minute.
//
// Memory: bytes that wait for the disk ([Options].Pending; at that bound a read waits a second for room, no longer, and what finds none is
// dropped), one block for each read under way, and the tables of at most 256 open shards (8 bytes for 64 KiB of a shard). An open shard is
// mapped once for all its leases; the pages of a lease leave the process's resident memory when it is released. Goroutines: four writers and
// one that closes idle files, from [Open] to [Cache.Close].
//
// # Directory
//
// Everything lies below v1 in the directory that the user names.
//
// What another user could have written is not believed: Open and the functions that keep a directory in order refuse a v1 that is a symbolic
// link, that belongs to anybody but this user or root, or that its group or others can write to. The same holds for each file below it; a
// shard file that is not trusted is removed and fetched again. What the cache makes has mode 0700 or 0600, whatever the umask, and modes are
// never changed: a v1 that somebody has opened to others is good again after chmod -R go-w. v1 stays open for as long as the Cache, and all
// names are resolved below it, so that a link in its place leads nowhere.
//
// A v1 that is trusted and cannot be written, such as one of root's that was filled before the job, is read: hits are served, nothing is
// written, evicted or stamped, and Open says so once. What is found damaged is fetched again by each process that reads it.
//
//	v1/CACHEDIR.TAG           backups leave the directory out (https://bford.info/cachedir)
//	v1/usage                  the account that all processes share; see below
//	v1/evict.lock             flock(2)ed exclusively by who removes shard files
//	v1/a/ab…-…                one shard at one version: 24 hexadecimal digits of SHA-256 of its address, a dash, and as many of
//	                          its size in decimal, a zero byte and its version; a is the first digit
//	v1/a/ab…-….new-*          not yet a shard file, where the file system has no unnamed files; left by killed processes it is
//	                          removed after a minute, as are v1/try-*
//
// The address is the store's identity of it (two spellings are one shard), without secrets. A shard that has no version, or no bytes, is
// never cached. A shard that changes has another version, so it is another file.
//
// # Shard file
//
// Numbers are little-endian, except the words of the table, which are in the machine's order.
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
//	D       size       the shard's bytes at their own places, holes where nothing was written; D is the least multiple of 65536
//	                   behind the table
//
// A word of the table says which run of its block's bytes is held. A block holds one run at most, so that exactly the bytes that a
// projection asks for are fetched and stored, whatever block they lie in.
//
//	bits    what
//	0-31    CRC-32 (IEEE 802.3) of the run
//	32-47   first byte of the run in the block
//	48-63   last byte of the run in the block
//	all 0   nothing is held
//
// Header and table are allocated when the file is made, so that a full disk cannot take a mapping of them away. The three words of the
// stamp lie outside of the header's sum; they are written once a minute and process. They are kept here and not in the file's times, which
// other programs and mount options change. The time until which a shard is kept only grows, unless the Cache that set it sets it back.
//
// # Protocol
//
//  1. Open: open(2), flock(2) LOCK_SH for as long as the file is open; then it must still have a link, its length and its header must be the
//     key's. A file that does not match is removed by the first process to lock it exclusively. A missing one is made without a name (O_TMPFILE),
//     complete except for data and locked, and then linked to its name, which fails when another process was first.
//  2. Read: load the word, read the run, compare the sum; no lock. What is held stays true while data grow beside it. Where the sum
//     differs and the word is still the same, it is set to zero by compare-and-swap, and the bytes are fetched again, three times at most
//     for one read. A view is a mapping, which shows what anything writes into the file later, and is verified when it has been used
//     and before it is released. A word that was set to zero is counted in the header, after that and before the bytes are fetched: when the
//     count differs from that at the lending, the view was of damaged bytes perhaps, though they are whole again.
//  3. Miss: claim the blocks within the process, lock their words with F_OFD_SETLK between processes, look again, fetch, copy to memory that
//     waits for the disk, give the bytes to the reader. A writer reserves room, writes the data, then the words, unlocks. A run grows to
//     take new bytes in, and with them what lies between; its sum follows from the sums of its parts, so that bytes that have rotted
//     meanwhile are found out and not blessed.
//  4. What another has claimed or locked is waited for after one's own is fetched: a goroutine's end, or a look every 2 to 20 ms. After ten
//     seconds without progress (more where many bytes are awaited) the bytes are fetched and not kept.
//  5. The kernel frees all locks of a process that ends, however it ends, so there are no stale locks. Data without a word are not held;
//     a word without its data, after a power loss, has a sum that differs.
//  6. A shard file is never made shorter. It is removed by unlink(2), by a process that holds evict.lock and the file's own lock exclusively, so no process
//     has it open. A mapping of a file that something else makes shorter faults; the fault becomes a miss (see shard.Guard).
//
// # Account and eviction
//
//	offset    bytes  what
//	8         8      bytes on the disk, and about to be
//	16        8      time before which a look for what may be evicted is in vain
//	24        8      limit of the Cache that was opened last
//	4096+8i   8      what process i is about to write; it locks these bytes with F_OFD_SETLK
//
// A writer adds to its own word, then to the sum of all by compare-and-swap unless that would exceed the limit. At the limit one process
// looks at all files, puts the sum right (what they have on the disk, and the words of living processes), and removes, in this order,
// versions of shards that have one used later, and then the least recently used, as far as the policy allows: [Keep] lets a shard go when its
// time is over, [LRU] any that is not in use. When nothing may go, what is new passes through. The same happens when less of the file
// system is free than [Options].MinFree.
package cache
