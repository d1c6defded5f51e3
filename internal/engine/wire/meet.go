package wire

// Meet is a rank's contribution to a meeting of its job, and its request. On each machine one
// waiting rank carries the contributions of all to the job's store, and the store's values to them.
type Meet struct {
	Name    string            `json:"name"`    // of the meeting; the same in all messages of a connection
	Values  map[string]string `json:"values"`  // to be carried to the store
	Found   map[string]string `json:"found"`   // in the store, for the other ranks
	Wants   string            `json:"wants"`   // a key of the store whose value the rank waits for, or empty
	Carried int               `json:"carried"` // values up to this Met.Count are in the store
	Waits   bool              `json:"waits"`   // the rank can carry, and sends MEET again soon

	// Patience is how many milliseconds the answer to a rank that waits may take while there is no
	// news: what it wants was not found, and it does not carry.
	Patience int `json:"patience"`
}

// Met describes the state of a meeting.
type Met struct {
	Carries bool              `json:"carries"` // this rank does
	Values  map[string]string `json:"values"`  // that it has to carry
	Wanted  []string          `json:"wanted"`  // keys that it has to look for, until they are found
	Count   int               `json:"count"`   // of values that were given, with these
	Members int               `json:"members"` // ranks of this machine that have come
	Found   map[string]string `json:"found"`
}
