// Package segmentdir keeps data in a directory of files, the segments, which any number of
// processes read and write at once without locks: a segment appears whole, by a rename, and is then
// never changed. The footer index and the counts of rules are kept this way, in one directory.
package segmentdir
