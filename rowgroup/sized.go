package rowgroup

// sized returns a slice of n elements of any content, s itself when it has the room.
func sized[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return make([]T, n, n+n/4)
}
