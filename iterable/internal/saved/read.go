package saved

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/shard"
)

const (
	maxPlanFile = 4 << 30 // bytes; a larger file is a mistake
	planPiece   = 8 << 20 // bytes of a plan that are read at once
)

// A PlanError reports that a file is not a plan, or is damaged.
type PlanError struct {
	Name string // path or address
	Err  error
}

func (e *PlanError) Error() string {
	return shard.Redact(e.Name) + ": not a plan of shardfeed: " + e.Err.Error()
}

func (e *PlanError) Unwrap() error { return e.Err }

// ReadPlan reads what SavePlan wrote: a file of this machine, or a descriptor of this process.
func ReadPlan(path string) (*Plan, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		return readPlan(context.Background(), path, fileObject{f}, info.Size())
	}
	b, err := io.ReadAll(io.LimitReader(f, maxPlanFile+1))
	if err != nil {
		return nil, err
	}
	return readPlan(context.Background(), path, bytesObject(b), int64(len(b)))
}

// FetchPlan reads a plan at an address of a store, in one request if it is small.
func FetchPlan(ctx context.Context, store shard.Store, address string) (p *Plan, err error) {
	files, err := store.List(ctx, address)
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, &PlanError{address, fmt.Errorf("it names %d files", len(files))}
	}
	o, err := store.Open(ctx, files[0])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	err = shard.Rereading(ctx, o, func(o shard.Object) (err error) {
		p, err = readPlan(ctx, address, o, files[0].Size)
		return err
	})
	return p, err
}

// readPlan reads a file, first its front, which shows whether the rest is worth it.
func readPlan(ctx context.Context, name string, o object, size int64) (*Plan, error) {
	if size > maxPlanFile {
		return nil, &PlanError{name, fmt.Errorf("it has more than %v", mem.Bytes(maxPlanFile))}
	}
	p, err := parseObject(ctx, o, size)
	var store *shard.Error
	var disk *fs.PathError
	if err == nil || errors.As(err, &store) || errors.As(err, &disk) || ctx.Err() != nil {
		return p, err
	}
	return nil, &PlanError{name, err}
}

func parseObject(ctx context.Context, o object, size int64) (*Plan, error) {
	if size == 0 {
		return nil, errors.New("it is empty")
	}
	front := make([]byte, min(size, planPiece))
	if err := o.ReadAt(ctx, front, 0); err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(front, []byte(bundleMagic)):
		return readBundle(ctx, o, size, front, parseJSON)
	case !bytes.HasPrefix(bytes.TrimLeft(front, " \t\r\n"), []byte("{")):
		return nil, errors.New("it begins like another kind of file; name one that plan --save wrote")
	}
	r := bundleReader{object: o, size: size, front: front}
	b, err := r.read(ctx, 0, size)
	if err != nil {
		return nil, err
	}
	return parseJSON(b)
}

func parseJSON(b []byte) (*Plan, error) {
	var f File
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, err
	}
	return f.saved()
}

// fileObject is a plan file of this machine.
type fileObject struct{ *os.File }

func (f fileObject) ReadAt(_ context.Context, p []byte, off int64) error {
	_, err := f.File.ReadAt(p, off)
	if errors.Is(err, io.EOF) {
		return errCut
	}
	return err
}
