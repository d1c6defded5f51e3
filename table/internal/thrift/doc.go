// Package thrift makes calls of Apache Thrift by its binary protocol, for services of which a few
// methods are wanted: a generated client of the Hive metastore has 86,000 lines.
//
// A [Struct] is the fields of a struct by their IDs, without names: its methods return the value of
// a field, or the zero value of the type if the field is absent or has another type. Fields are
//
//	value                type
//	bool                 bool
//	int64                byte, i16, i32, i64 (int16 and int32 when written)
//	float64              double
//	string               string, binary
//	Struct               struct
//	[]string, []Struct   list, set; lists of other types are skipped
//	map[string]string    map of strings to strings; other maps are skipped
//
// A message is a word 0x8001 and a byte each of 0 and the type (1 call, 2 reply, 3 exception), the
// name of the method, its sequence number as i32, and a struct: the arguments of a call, or the
// results of a reply, of which field 0 is the result and others are declared exceptions. See
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-binary-protocol.md.
//
// An answer may have 1 GiB; what it claims and does not send is not allocated.
package thrift
