// Package regular opens files that a user names, and refuses other kinds at once: opening a named
// pipe waits for its writer, and reading a device may never end. It also replaces files as a whole,
// and knows ~ in their names.
package regular
