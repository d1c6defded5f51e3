package wire

import "github.com/shardfeed/shardfeed/shuffle"

// Join starts an iteration or takes part in one. An iteration is one epoch, or the rest of one
// after a state.
type Join struct {
	Iteration string `json:"iteration"` // the same for all workers of one torch DataLoader iterator, and only for them
	Worker    int    `json:"worker"`
	Workers   int    `json:"workers"` // 0 or 1: no torch workers

	Rank      int `json:"rank"`
	WorldSize int `json:"world_size"`
	Window

	// Replica is one of Replicas trainers of this machine that read the batches of the rank; 0 of
	// these is 1. Rank and WorldSize count data ranks, each of which Replication ranks claim over
	// all machines.
	Replica     int `json:"replica"`
	Replicas    int `json:"replicas"`
	Replication int `json:"replication"`

	// Seats are the place of each line lane, as in Session.Seats, the same on all ranks. null and
	// []: lanes have their places in the order.
	Seats []int `json:"seats"`

	// State decides the epoch if it was not used yet, else Epoch if it was not used yet, else the
	// session continues after its last iteration. The serials show whether they were used.
	State       *shuffle.State `json:"state"`
	StateSerial string         `json:"state_serial"`
	Epoch       *int64         `json:"epoch"`
	EpochSerial string         `json:"epoch_serial"`

	// Next is the position of the next step of a torch worker that resumes within an epoch. null:
	// the position of State or 0, and Worker steps more.
	Next *int64 `json:"next"`

	// Bundle allows that many steps in one batch, for trainers of single rows. The engine uses it
	// if the rows of the batch equal the rows of the steps in their order; see Joined. 0 and 1:
	// each step is a batch.
	Bundle int `json:"bundle"`

	// Outputs is how many batches the trainer's own workers hold results of, in memory of the
	// trainer's. As many batches of the stream's are reserved for them.
	Outputs int `json:"outputs"`

	// ImageCPUShare leaves all but this share of the JPEGs to a device of the trainer's, and the
	// batches have the form of loader.ImageSplit where columns allow it. null: all images are
	// tensors. Of replicas and workers the first one decides. An iteration reads on where the one
	// before has read ahead if it has the same share.
	ImageCPUShare *float64 `json:"image_cpu_share,omitempty"`

	// Agree names the data set among the ranks. Ranks of a job that join with the same name must
	// have the same fingerprint. Empty: they are not compared.
	Agree string `json:"agree"`
}

func (j Join) Validate() error { return checkShare(j.ImageCPUShare) }

func (j Join) ReplicaCount() int { return max(1, j.Replicas) }

// Place is the number of the participant in its iteration.
func (j Join) Place() int { return j.Worker*j.ReplicaCount() + j.Replica }

// Share sets the share of the JPEGs that the engine decodes, in batches that it has not begun. It
// counts of the participant whose Join decides.
type Share struct {
	ImageCPUShare float64 `json:"image_cpu_share"`
}

func (s Share) Validate() error { return checkShare(&s.ImageCPUShare) }

// checkShare checks a share of images.
func checkShare(share *float64) error {
	if share != nil && !(*share >= 0 && *share <= 1) {
		return ValueError("image_cpu_share must be from 0 to 1, got %v", *share)
	}
	return nil
}

// A Window limits each epoch to some of its steps: it leaves out the first Skip, and has at most
// Take. Take 0 has no limit.
type Window struct {
	Skip int64 `json:"skip,omitempty"`
	Take int64 `json:"take,omitempty"`
}

// Joined describes the iteration that starts.
type Joined struct {
	Epoch       int64         `json:"epoch"`
	State       shuffle.State `json:"state"`        // the start of the iteration
	Next        NextEpoch     `json:"next"`         // where the session continues after it
	Steps       int64         `json:"steps"`        // of a whole epoch, on each rank
	Bundle      int           `json:"bundle"`       // steps in one batch; the last batch has all rows that are left
	Fingerprint Fingerprint   `json:"fingerprint"`  // what all ranks must have in common
	Schema      []Node        `json:"schema"`       // of the batches
	OutputBytes int64         `json:"output_bytes"` // reserved for Join.Outputs
	Warnings    []string      `json:"warnings"`     // about the order, for the user; to rank 0, at the start of training
	Span        Span          `json:"span"`
}

// NextEpoch is the start of the session's next iteration. A trainer whose engine has ended passes
// Joined.State with these to the next engine in its JOIN, so that the epochs keep their order.
type NextEpoch struct {
	Epoch    uint64 `json:"epoch"`
	Position int64  `json:"position"`
}

// Fingerprint is everything that ranks must have in common, by its name for the user. Values are
// short texts.
type Fingerprint map[string]string

// End reports how an iteration ended.
type End struct {
	Left    bool          `json:"left"`    // by LEAVE
	Batches int64         `json:"batches"` // that this consumer got
	State   shuffle.State `json:"state"`   // after the iteration's last batch
}

// SetEpoch sets the epoch of the session's next iteration.
type SetEpoch struct {
	Rank   int    `json:"rank"`
	Epoch  int64  `json:"epoch"`
	Serial string `json:"serial"`
}
