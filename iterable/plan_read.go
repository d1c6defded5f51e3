package iterable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shard"
)

const (
	maxPlanFile = 1 << 30 // bytes; a larger file is a mistake
	planPiece   = 8 << 20 // bytes of a plan on servers that are read first
)

// A PlanError says that a file is not a plan, or is damaged.
type PlanError struct {
	Name string // path or address
	Err  error
}

func (e *PlanError) Error() string {
	return shard.Redact(e.Name) + ": not a plan of shardfeed: " + e.Err.Error()
}

func (e *PlanError) Unwrap() error { return e.Err }

// ReadPlan reads what SavePlan wrote: a file of this machine, or a pipe.
func ReadPlan(path string) (*SavedPlan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPlanFile+1))
	if err != nil {
		return nil, err
	}
	return namePlan(path, b)
}

// FetchPlan reads a plan at an address of a store, in one request where it is small.
func FetchPlan(ctx context.Context, store shard.Store, address string) (*SavedPlan, error) {
	files, err := store.List(ctx, address)
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, &PlanError{address, fmt.Errorf("it names %d files", len(files))}
	}
	if err := checkPlanSize(files[0].Size); err != nil {
		return nil, &PlanError{address, err}
	}
	b, err := fetchPlan(ctx, store, files[0])
	if err != nil {
		return nil, err
	}
	return namePlan(address, b)
}

func checkPlanSize(n int64) error {
	if n > maxPlanFile {
		return fmt.Errorf("it has more than %v", mem.Bytes(maxPlanFile))
	}
	return nil
}

// fetchPlan reads a file: its beginning first, which shows whether the rest is worth it.
func fetchPlan(ctx context.Context, store shard.Store, file shard.Shard) (b []byte, err error) {
	o, err := store.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	b = make([]byte, min(file.Size, planPiece))
	if err := o.ReadAt(ctx, b, 0); err != nil || int64(len(b)) == file.Size || !isPlan(b) {
		return b, err
	}
	all := make([]byte, file.Size)
	n := copy(all, b)
	return all, shard.ReadRanges(ctx, o, []shard.Range{{Off: int64(n), P: all[n:]}})
}

// isPlan says whether a file that begins like this may be a plan.
func isPlan(b []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{")) }

func namePlan(name string, b []byte) (*SavedPlan, error) {
	err := checkPlanSize(int64(len(b)))
	var p *SavedPlan
	if err == nil {
		p, err = parsePlan(b)
	}
	if err != nil {
		return nil, &PlanError{name, err}
	}
	return p, nil
}

func parsePlan(b []byte) (*SavedPlan, error) {
	switch {
	case len(b) == 0:
		return nil, errors.New("it is empty")
	case !isPlan(b):
		return nil, errors.New("it begins like another kind of file; name one that plan --save wrote")
	}
	var f planFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, err
	}
	return f.saved()
}
