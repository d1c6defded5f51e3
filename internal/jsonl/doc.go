// Package jsonl writes rows as JSON lines.
//
// A [Writer] is made once for a schema and turns row i of a batch of columns into one line. Every
// value form is exact: what a reader parses back is the value that the shard holds.
//
//	type                          JSON
//	null                          null
//	bool, int8..int64, uint8..64  true, false, a number
//	float16, float32, float64     the shortest number that reads back as the same value of that width, always with a point or an
//	                              exponent; "NaN", "Infinity", "-Infinity"
//	string, enum, json            a string
//	binary, fixed binary, bson    a string: base64 with padding
//	interval                      a string: base64 of its 12 bytes
//	uuid                          a string: 8-4-4-4-12 hexadecimal digits
//	decimal                       a string with as many digits after the point as the type's scale
//	date                          a string: YYYY-MM-DD
//	time                          a string: HH:MM:SS and a fraction of 3, 6 or 9 digits by the unit
//	timestamp                     a string: date, T, time, and Z when the type is adjusted to UTC
//	int96                         as a timestamp of 9 digits without Z
//	list                          an array
//	map                           an array of [key, value]
//	struct                        an object
//
// A row is an object with its columns in schema order; names that repeat are keys that repeat.
// Years before 0 and after 9999 are written as ISO 8601 extends them: -0002, 10000. Strings keep
// their UTF-8; only quotes, backslashes and control characters are escaped.
//
// The package imports only rowgroup, allocates only to grow the caller's buffer and starts no
// goroutine.
package jsonl
