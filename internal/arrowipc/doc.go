// Package arrowipc writes columns as a stream of Arrow's IPC format.
//
// Make one [Writer] for a schema. A stream is its Begin, an AppendBatch for each batch, and its End
// (https://arrow.apache.org/docs/format/Columnar.html):
//
//	part       bytes
//	message    FF FF FF FF, int32 size of the metadata, metadata, body
//	metadata   a flatbuffer Message (Message.fbs): a Schema or a RecordBatch; padded to 8 bytes
//	body       the buffers of a batch, each padded to 8 bytes
//	end        FF FF FF FF 00 00 00 00
//
// Types are the same as in package loader/loaderarrow, which lists them. This package avoids
// arrow-go, whose IPC writer makes the command 6 MB larger. It writes neither compression nor
// dictionaries.
//
// It starts no goroutine.
package arrowipc
