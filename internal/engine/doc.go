// Package engine is the engine as a process: it serves batches through shared memory to trainers on
// the same machine, from streams that it opens for them. One engine serves all ranks of a job on a
// node, so they share one cache and one index of footers.
//
//	trainer ---- OPEN, JOIN, RELEASE ----> connection -> client -> session (data set, rank) -> iteration (one epoch) -> run, loader
//	trainer <--- RING + fd, BATCH, END --- connection <- ring slot <----------------------------------------------------- batch
//
// A Server accepts connections. A client is a connection's share of an open data set. A session
// counts the epochs of one rank of one data set; an iteration is one epoch of it, read by one
// consumer or by the K torch workers of one DataLoader, each with its own connection and ring.
// Rings are the allocators of the loader, so a batch is collated where the trainer reads it.
// Replicas, ranks that must see the same batches, share the sessions of one data set object, by its
// name in OPEN; replicas of one machine share iterations and rings too.
//
// # Life of an iteration
//
//	connections                      session, under its lock         run, which owns the iteration
//
//	first JOIN --------------------> newIteration: uses up an epoch
//	further JOINs of workers ------> add: a participant for each
//	last JOIN ---------------------> begin: arrange the seats (each has one participant, or replicas),
//	                                 compare the ranks
//	                                  |-- a run waits: adopt ------> continues with its loader
//	                                  `-- else: start -------------> newLoader: a ring for each
//	JOINED, RING <------------------------------------------------- announce
//	BATCH <-------------------------------------------------------- deal: to whose turn it is
//	words, RELEASE -> ring -> the loader takes the slot for a later batch
//	LEAVE, end of the connection --> leave, disconnect: it is over;
//	                                 the last one cancels the run
//	END <---------------------------------------------------------- end, and wait for the next
//	ERROR <-------------------------------------------------------- finish: free the rings, and
//	                                                                fail those not yet over
//
// Only the run's goroutine makes, deals and ends batches. Others only mark a participant as over,
// or cancel the run, under the session's lock, under which consumers are called too: nothing
// follows the end of a participant. The engine's lock guards the state that sessions share: open
// data sets, running iterations, and the comparison of ranks. It is taken inside a session's lock,
// never around one.
//
// The rest of this page is the protocol, version 1. All integers are little-endian.
//
// # Socket
//
// A Unix stream socket in a directory of mode 0700 that belongs to the user; the engine refuses
// peers of another uid. Both sides speak in frames:
//
//	0  u32  size of the payload, at most 16 MiB
//	4  u16  kind
//	6  u16  0
//	8       payload: one JSON object in UTF-8, except in RELEASE, TAKE, RING and BATCH
//
// A frame of an unknown kind, a wrong size or wrong JSON is answered by ERROR, and the connection
// is closed. HELLO, OPEN and JOIN refuse unknown members, so that a misspelt option is never
// ignored. A HELLO has at most 64 KiB and must arrive within 10 s; otherwise the engine sends an
// ERROR of kind "late" and closes the connection, and the trainer may connect and greet again.
// Afterwards a trainer may be silent between frames, but must complete each frame within 30 s. The
// engine holds at most 64 MiB of payloads that are larger than 4 KiB; others wait. It accepts at
// most 4,096 connections, and answers more by ERROR.
//
//	kind  from     name      payload
//	   1  trainer  HELLO     Hello, the first frame
//	   2  trainer  OPEN      Open: what data to read; once per connection
//	   3  trainer  JOIN      Join: start an iteration or take part in it; after OPENED, and again after END
//	   4  trainer  RELEASE   empty: slots were released that the engine waits for, or the trainer waits; see Ring
//	   5  trainer  LEAVE     {}: end this consumer's part of the iteration; answered by one END with left, after all that was sent before
//	   6  trainer  EPOCH     SetEpoch; answered by SESSION
//	   7  trainer  ASK       Ask: the state of the session, its figures, or why its loop waits; answered by SESSION
//	   8  trainer  TAKE      i64 row numbers: the rows to send; answered by BATCH or ERROR
//	   9  trainer  SELECT    Select: write a list of rows; answered by SELECTED
//	  10  trainer  MAP       Map: rows by number from here on; answered by MAPPED
//	  11  trainer  MEET      Meet: see How ranks meet; at any time after WELCOME, answered by MET
//	  12  trainer  WAITED    Waited: how long the training loop waited since the last such message; not answered; at any time after OPENED
//	  13  trainer  SURVEY    {}: what the engine does, for all trainers; at any time after WELCOME, answered by SURVEYED
//	  14  trainer  TRACE     Trace: the loads of a rank since the last TRACE, for a trace; at any time after WELCOME, answered by EVENTS
//	  15  trainer  SHARE     Share: how many JPEGs the engine decodes, from here on; not answered; at any time after OPENED
//	  65  engine   WELCOME   Welcome, the answer to HELLO
//	  66  engine   OPENED    Opened, the answer to OPEN
//	  67  engine   PROGRESS  Progress, any number before OPENED and before JOINED
//	  68  engine   JOINED    Joined, the answer to JOIN
//	  69  engine   RING      u32 generation, u32 slots, u64 slot size, u64 offset of the trainer's words; carries the ring's descriptor (SCM_RIGHTS)
//	  70  engine   BATCH     u32 generation, u32 slot, u64 seq, u64 offset of the batch's header in the slot, u64 bytes used in the slot
//	  71  engine   END       End: no more batches come until the next JOIN
//	  72  engine   ERROR     Failure; after HELLO, OPEN and breaches of the protocol the connection is closed, after others it stays
//	  73  engine   SESSION   Session
//	  74  engine   NOTE      Note: a line for the user's log, at any time
//	  75  engine   MAPPED    Mapped, the answer to MAP
//	  76  engine   SELECTED  Selected, the answer to SELECT
//	  77  engine   MET       Met, the answer to MEET
//	  78  engine   SURVEYED  Snapshot
//	  79  engine   EVENTS    Events, the answer to TRACE
//	  80  engine   HELD      Held: what holds up the batch, once a second while the trainer waits for one
//
// The order on a connection is HELLO, OPEN, then any number of JOIN .. END. Requests are answered
// in order. Until END, a BATCH is sent as soon as a slot is free and its batch is ready: a free
// slot is the credit, the trainer does not ask. ERROR ends an iteration like END. When the trainer
// closes the socket or dies, its part of the iteration and its ring are released; forked children
// do not keep them. A data set closes with its last connection. The engine ends a grace period
// after the end of the last connection that had an OPEN, and removes its socket's name first. If a
// connection ends before WELCOME, connect again, to the next engine.
//
// # What another node found
//
// The nodes of a job list the shards and read their footers once. After OPENED a trainer may ask
// for the engine's inventory of these: ASK names a file, and the engine writes it beside its
// socket. Trainers carry the bytes to other machines. On each, one trainer writes them to a file
// beside the socket there, and all name the file in OPEN. The name must never have been used, with
// at most 200 of the characters A-Z a-z 0-9 . _ - before ".inventory": the file of a killed job is
// never read. The engine reads the file when it opens the data set, and removes it when that
// closes; if it is missing, as for an engine that replaces one that died, the engine lists for
// itself. An inventory holds neither credentials nor anything of the order: an engine that opens
// with it reads the same as one that lists the same. If it is damaged, or belongs to other
// addresses, OPEN is answered by ERROR.
//
// # Growing tables
//
// A data set whose spec has a refresh starts each epoch with the snapshot that its table has then.
// The engine keeps no order across snapshots: the trainer asks for the latest one by ASK, under a
// name that all ranks have for the start of the epoch, so that the ranks of a machine get one
// answer. Ranks of several machines settle on one of the answers in the store of the job. If it is
// not the open snapshot, a trainer closes its connections, and opens the data set again with it.
// Ranks that are still in the epoch before keep the data set of that epoch.
//
// # Documents
//
// A trainer that has the library of a tokenizer compares its tokens with the engine's. ASK names a
// file as for an inventory, but ending in ".documents", and the library. The engine writes the first
// documents and their tokens for one client of a data set, unless they were compared before. The
// trainer removes the file. If all agree, it makes the empty file that the documents name.
//
// # Counting together
//
// Nodes divide the counting of the samples of a rule. OPEN may name a directory beside the socket,
// of a name as an inventory has it with the ending ".counts", which the trainer has made, and the
// number of this node among the expected ones. Before it counts, the engine writes its inventory so
// far into the file found there, unless that cannot be handed on. It counts its part of the row
// groups first, then the others'. About once a second it writes new counts into the directory own,
// and takes files from the directory theirs, where trainers put the files of other nodes, each by a
// rename. It does not read row groups that are known. The trainer removes the directory once the
// data set is open.
//
// # How ranks meet
//
// Ranks of several machines compare what they are about to read in a store that serves the whole
// job, such as torch's. One rank of each machine accesses it for all: the carrier. A rank sends
// MEET with its entry, which the engine keeps until the carrier reports that it is in the store.
// The first rank that waits is the carrier. When it stops waiting, sends no MEET for 3 s or ends,
// the next one takes over. Two may carry the same entry, which does no harm: a key has one value.
// Other ranks need not ask often: their MEET is answered when there is news. The carrier also looks
// up the keys that others wait for, and passes the values to the meeting. The meeting ends with its
// last connection. The engine does not interpret the entries.
//
// # What an engine does
//
// SURVEY is for programs that show engines: it needs no OPEN, and a connection without one does not
// make the engine live longer. The answer counts the work for all trainers of this user since the
// engine started. It names addresses without their secrets.
//
// TRACE is for programs that write traces: they ask about every second, on a connection of their
// own for each rank of a data set object. From the first TRACE to the end of the last such connection
// the engine keeps the last 16,384 loads.
//
// # Rows by number
//
// Instead of JOIN a trainer may send MAP, and after MAPPED any number of TAKEs. Each is answered in
// order by a BATCH of these rows, or by an ERROR after which the connection and the TAKEs that
// follow stay. A number may occur more than once, and an empty list is an empty batch. A trainer
// may send TAKEs ahead: at most 64 unanswered ones, of 2,097,152 rows together, or a single one;
// more breaks the protocol. A BATCH waits for a free slot, as in an iteration. While TAKEs are
// unanswered a trainer sends no other request but RELEASE, since an ERROR does not name the failed
// request. Epoch, step and position of such a batch are -1. All connections to a data set share the
// memory of decoded rows. A connection that had a JOIN takes no MAP, and the reverse. Another MAP,
// while no TAKE waits for its answer, sets the epoch of random crops.
//
// # Images on a device
//
// A trainer whose device decodes JPEGs gives JOIN or MAP an image_cpu_share: the share of the
// images that the engine decodes. Joined.Schema and Mapped.Schema then describe batches of the form
// of loader.ImageSplit: a column of images that a device can make is a list of bytes, in each row a
// tensor or a file, and the column of its name with "\x00device" has the 24 numbers of images.Task.
// The column "\x00row" has the rows' numbers, as Ask.Locate takes them, for errors of the device.
// An image that the device refuses is made by the engine on request: ASK, on another connection.
// The trainer measures both sides, by the times of the rows that the engine has decoded, and sets
// the share by SHARE. A trainer without such a device leaves the share out.
//
// # Ring
//
// A memfd (elsewhere a file without a name) of slots * slot size bytes and the words of each
// trainer that reads it, sealed against resizing, mapped shared by both sides. A batch's pages are
// allocated before it is announced, other pages when they are touched. RING follows the first
// JOINED, and the ring serves all iterations of a connection. For a batch that needs more than a
// slot the engine makes a new ring with a higher generation, and sends it before the BATCH. Slots
// of the old ring stay valid until they are released, and are not written again. If the stream's
// memory has no room for a larger ring, the batch gets a ring of one slot, of its size, which ends
// with its release; the previous ring stays in use. The trainer may keep slots as long as it likes.
// When it keeps all, the engine waits and uses no processor. If OPEN asks for a number of slots, all
// are used. Else only some are at first, and more when a trainer waits, by its word waiting, and the
// engine had to stop because it had no slot: a trainer that keeps batches has to store waiting. A
// slot is complete before it is announced: the frame orders the memory. Replicas get one ring, and a
// slot of it is free when each has released it or has ended; its first generation may be above 0.
//
// A trainer releases slots by its words, at the offset that RING names:
//
//	  0  u64  wanted: not 0 while the engine wants to hear of releases; the engine writes it
//	 64  u64  waiting: the seq of the last batch that the trainer had when it started to wait
//	128  u64  for each slot: the seq of the batch in it that was released; the trainer writes it
//
// Each is written by one store of 8 bytes. The trainer stores the seq, after its last use of the
// slot, or into waiting, and then loads wanted. If that is not 0 it sends a RELEASE. One suffices
// for several slots, and may come later while other batches are ready. The engine reads the words
// when it needs a slot. It sets wanted only while it waits for one, and only for the slots it waits
// for: of replicas, the slowest. In a generation that is not the newest wanted stays set. No fence
// is needed between the store and the load: the engine reads again a moment after it has set
// wanted. A word above the seq that the slot was announced with breaks the protocol; one below it
// does not count.
//
// A trainer may pass slots to its own processes, and releases them itself. Results of those
// processes are in the trainer's memory: JOIN reserves memory for outputs batches of them, and ASK
// the excess, both within the stream's memory.
//
// # Slot
//
// The batch's header, 256-byte aligned, at the offset that BATCH names:
//
//	 0  u32  magic 0x31424653 ("SFB1")
//	 4  u32  nodes: number of descriptors
//	 8  u64  seq
//	16  u32  rows of each column
//	20  u32  valid: rows that count; the others fill the last step of a padded tail
//	24  i64  epoch
//	32  i64  step of the epoch, from 0
//	40  i64  position: rows of the epoch before this step, over all ranks
//	48  i64  next epoch     } the state after this batch: Joined.State with these
//	56  i64  next position  }
//	64       descriptors, 64 bytes each, one for each node of Joined.Schema in pre-order, column by column:
//
//	 0  i64  length: number of values
//	 8  i64  nulls
//	16  u64  offset of the validity: a bit per value, least significant first, 1 is present; 0: no nulls
//	24  u64  offset of the list or byte offsets: length+1 of i32; 0: the kind or a list size needs no offsets
//	32  u64  offset of the data: length*width bytes, or the bytes of a binary node; 0: the kind has no data, or no bytes
//	40  u64  bytes of the data
//	48  i64  list size: the items of each value of a list without offsets; 0 else
//	56  u64  0
//
// After the descriptors comes what the batch adds to the audit of its epoch; see package audit:
//
//	 0  u64  rows that are delivered, in the unit of the order
//	 8  u64  rows that are lost
//	16  u64  rows that fill the batch
//	24  u64  sum of the hashes of the delivered and the lost rows
//
// These four are read as one integer of 32 bytes, so that adding these of many batches adds each
// number: only the last, on top, can carry. Then comes what held the batch up while it was made:
//
//	 0  i64  when it was finished, in ns of CLOCK_MONOTONIC
//	 8  u64  number of marks
//	16       of a bundle, for each of its rows that is valid or lost, in the order of the epoch: u64 the sum of the hashes up to it
//	         then for each lost one: u64 its place among these
//
// The used bytes end with the marks. Each ends a piece of time, which reaches back to the mark
// before:
//
//	0  u64  the ns from it until the batch was finished, times 256, and the cause, as in package wait
//
// Offsets count from the slot's first byte; buffers are 256-byte aligned. A boolean takes one byte.
// The value under a null is zero, NaN, or OPEN's null.
//
// The data of fixed columns of one type and width are at equal distances, in schema order and
// before all other columns, unless a transform moves one. A trainer can use that after it has
// checked the offsets.
package engine
