// Package loaderarrow shows a loader's batches as records of Apache Arrow, for arrow-go's compute,
// IPC, Flight and all that reads its arrays.
//
// [RecordBatch] shares the batch's memory. Copied are only values that Arrow lays out in another
// way: booleans, which have a bit there, decimals of 64 bits and times in milliseconds.
//
//	column                      Arrow
//	null                        null
//	bool, integers, floats      the same
//	decimal, precision <= 38    decimal128; decimal256 up to 76, else binary
//	date                        date32
//	time(ms), time(us, ns)      time32, time64
//	timestamp                   timestamp, with the zone UTC when it is adjusted to it
//	string, enum, json          utf8
//	binary, bson                binary
//	fixed binary, interval      fixed_size_binary
//	UUID                        fixed_size_binary(16), marked in the field as arrow.uuid
//	list, list of one size      list, fixed_size_list
//	map, struct                 map, struct; a map without values is a list of struct
//
// It is a package of its own so that programs that do not use Arrow do not link it. It starts no
// goroutine.
package loaderarrow
