// Package trusted opens the directories that keep files between runs, the cache and the index of
// footers, so that no other user decides what is in them or where writes go.
//
// A directory is trusted when it is not a symbolic link, belongs to this user or to root, and
// neither its group nor others can write to it. The same holds for each file in it: files may be
// older than the mode of their directory.
//
// Names are resolved below the open directory, so that renaming it, or replacing it by a link,
// changes nothing. No mode is ever changed: the error gives the remedy.
package trusted
