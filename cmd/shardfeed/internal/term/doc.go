// Package term writes what people and pipes read: reports and tables, progress on a terminal, and
// lines whose reader may go away.
//
// Nothing is drawn on anything but a terminal. Opening and Progress draw one line and clear it when
// they close. A LineWriter counts the bytes that its reader took, and waits in a full pipe only
// until its context ends.
package term
