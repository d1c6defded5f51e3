package wait

// A Cause is why a training loop has no batch.
type Cause uint8

const (
	Open     Cause = iota // the data set or the iteration is being opened
	List                  // shards are listed, footers are read
	Count                 // rows that filters keep, or lengths for packing, are counted
	Storage               // bytes from a store
	Cache                 // bytes from the cache on the local disk
	Decode                // column chunks are decoded
	Room                  // the stream's memory is in use
	Memory                // no memory for a batch: the trainer holds all that there are
	Collate               // rows are gathered, images decoded, padded, transformed
	Map                   // functions of the trainer run
	HandOver              // the batch is finished, and on its way to the loop
	Copy                  // the batch is copied to a device

	Causes = iota // their number
)

var names = [Causes]string{
	"open", "list", "count", "storage", "cache", "decode", "room", "memory", "collate", "map", "handover", "copy",
}

// String is the name of the cause in JSON and metrics.
func (c Cause) String() string { return names[c] }

// CauseOf returns the cause of a name.
func CauseOf(name string) (Cause, bool) {
	for i, n := range names {
		if n == name {
			return Cause(i), true
		}
	}
	return 0, false
}
