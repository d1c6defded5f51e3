package wire

// Version of the protocol. A trainer and an engine of different versions do not talk.
const Version = 1

// Hello describes the trainer.
type Hello struct {
	Version int    `json:"version"`
	Build   string `json:"build"` // of the trainer's package
	Job     string `json:"job"`
	PID     int    `json:"pid"`

	LocalWorldSize int `json:"local_world_size"` // ranks of the job on this node; 0 is not known
}

func (h Hello) Validate() error {
	if h.PID < 0 || h.LocalWorldSize < 0 {
		return ProtocolError("HELLO: pid %d, local_world_size %d", h.PID, h.LocalWorldSize)
	}
	return nil
}

// Welcome describes the engine.
type Welcome struct {
	Version int    `json:"version"`
	Build   string `json:"build"`
	PID     int    `json:"pid"`
	ID      string `json:"id"`  // of only this engine, on any machine
	Log     string `json:"log"` // the engine's log file
}
