// Package option collects what is wrong with options, and spells the names of fields for the reader
// of the message: as Go, the command or Python does. A text has the names of fields in braces, as
// in "must be less than {Workers}, got 4"; what a user wrote goes into it as a Literal.
package option
