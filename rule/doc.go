// Package rule is the language of filters: which rows of a data set a run trains on.
//
//	score >= 0.5 and (lang in ("en", "de") or len(token_ids) between 16 and 4096)
//	  and not (id in @drop.txt) and meta.source is not null and hash(user_id, 7) % 10 < 3
//
// [Parse] reads a text as an [Expr], whose String is the canonical text. [Expr.Bind] checks it
// against a schema and returns a [Filter], which [Filter.Prune] asks about statistics and an
// [Evaluator] about blocks of rows. The package is pure: it reads no files but through a function
// that Bind is given, starts no goroutines, and keeps no memory of the columns it is shown. An
// Evaluator owns scratch memory and serves one goroutine; all else is immutable and shared.
//
// A [Pack] puts the rows that a rule keeps into blocks of tokens, a [Bucket] into batches of rows
// of about the same length. Their number depends only on the rows' lengths; a [Packer] computes it,
// and lays rows out in a given order.
//
// # Grammar
//
// Keywords are case-insensitive, names are not.
//
//	filter    = both { "or" both }
//	both      = not { "and" not }
//	not       = "not" not | "(" filter ")" | test
//	test      = operand [ comparison value | "is" ["not"] ( "null" | "nan" )
//	            | ["not"] "in" ( list | file ) | ["not"] "between" value "and" value
//	            | ["not"] ( "like" | "ilike" ) 'pattern' [ "escape" 'character' ] ]
//	          | value comparison operand
//	          | ( "contains" | "starts_with" | "ends_with" ) "(" operand "," value ")"
//	operand   = column | "len" "(" column ")" | "hash" "(" column [ "," salt ] ")" "%" n
//	          | ( "lower" | "upper" ) "(" column ")"
//	column    = name { "." name }              members of structs
//	name      = letters, digits and _ | "quoted name" | `quoted name`
//	list      = "(" value { "," value } ")"    or in square brackets
//	file      = "@" name | "@" 'quoted name'
//	comparison = "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">="
//
// An operand without a comparison is = true. Names are quoted as in SQL: by double quotes, or by
// backticks, with a quote within doubled. After its column, a value may be a string in double
// quotes too; single quotes always make strings.
//
//	value                          columns that it fits
//	12  -3  0.5  1e-3              numbers; whole ones only where the column is of integers
//	nan  inf  -inf                 floats
//	true  false                    booleans, which = and != compare and nothing orders
//	'text'  "text"                 strings, enums, JSON; binary, as UTF-8; UUIDs; dates, times and
//	                               timestamps in the forms below
//	x'00ff'  b'\x00a'              binary, fixed binary, UUIDs
//	date '2024-01-31'              dates; timestamps, as midnight
//	time '16:30:00.5'              times
//	timestamp '2024-01-31 16:30:00.5+01:00'
//	                               timestamps; T may replace the space. Without a zone it is UTC
//	                               if the column is; a zone does not fit local times
//	today()  now()                 dates; timestamps: the UTC day and second that [Expr.At] is given
//	.. + interval '1 month 2 days' a date, timestamp, today() or now() later, or earlier with -;
//	.. - interval 7 days  .. - 7   a plain number counts days, of a date
//
// A value must fit the column's type, or Bind refuses the filter: 300 does not fit int8, 0.123 not
// decimal(9,2), and a microsecond not a timestamp in milliseconds. Only floats round, to the
// column's type. Lists, maps and structs are only compared with null; intervals and decimals of
// more than 76 digits too.
//
// A file has one value a line, of the column's type, without quotes; empty lines do not count.
//
// # Meaning
//
// Logic is Kleene's, as in SQL: a comparison with a null is unknown, not of unknown is unknown, and
// a row stays when the whole is true. Floats compare as IEEE 754 says: NaN is unequal to all,
// itself included, and neither less nor greater, so that not (x < 1) keeps NaN and x >= 1 does not;
// -0 is 0. Strings and binary values order by their bytes.
//
// Len counts the items of a list, the pairs of a map, the characters (code points) of a string and
// the bytes of a binary value.
//
// Like matches a whole string: % matches any text, _ one character (code point), and the character
// after the escape itself; without an escape clause there is no escape. Ilike is like of
// lower(column) and the pattern in lower case. Contains, starts_with and ends_with compare bytes,
// of binary values too. Lower and upper map one character at a time, by the simple case mapping of
// Unicode; ß in upper case is ẞ.
//
// Is nan is true for NaN and unknown for a null. It applies only to floats.
//
// Statistics decide about starts_with, and about the text before the first wildcard of like, as
// about a range; about a pattern without wildcards as about =. Dictionaries decide about all tests,
// and a column that has one is tested once for each of its entries.
//
// Hash is XXH64 with the salt (default 0) as its seed, a number from 0 to 2^64-1, modulo n. The
// hash of a null is null. The hashed bytes do not depend on the physical type of a value:
//
//	integers, booleans, dates, times, timestamps    8 bytes, little-endian, sign-extended; times
//	                                                and timestamps in the column's unit
//	floats                                          the 8 bytes of the float64; -0 as 0, one NaN
//	decimals                                        the unscaled number as column.Array stores it
//	strings, binary, UUIDs and all else             the bytes themselves
package rule
