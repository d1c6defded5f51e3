// Package process asks the system about this process, and for how it is scheduled.
package process
