// Package tables opens the table that the addresses of a data set name, and checks it against the
// footers of its files. It knows no formats.
package tables
