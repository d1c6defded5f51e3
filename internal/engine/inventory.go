package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/iterable"
)

// What one node found when it opened a data set reaches the engines of the others through files
// beside their sockets, which trainers carry. A trainer chooses a name that was never used, so that
// a file that a killed job left is never read. Documents, which may be more than a message holds,
// reach a trainer in such a file too.

// fileName matches the names of these files. Python's sweep knows them too.
var fileName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,200}\.(inventory|documents)$`)

// beside is the path of a file in the directory of the socket.
func (e *engine) beside(name string) (string, error) {
	if e.dir == "" || !fileName.MatchString(name) {
		return "", wire.ProtocolError("%q is not the name of an inventory, or of documents", name)
	}
	return filepath.Join(e.dir, name), nil
}

// saveBeside writes a file that does not exist yet.
func (e *engine) saveBeside(name string, b []byte) error {
	path, err := e.beside(name)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// readInventory reads another node's file, or returns nil if it is gone, as after its data set was
// closed.
func readInventory(path string) (*iterable.Inventory, error) {
	if path == "" {
		return nil, nil
	}
	b, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return iterable.ParseInventory(b)
}

// saveInventory writes what the data set found to a file that does not exist yet.
func (c *client) saveInventory(name string, most int64) (wire.Session, error) {
	if _, err := c.engine.beside(name); err != nil {
		return wire.Session{}, err
	}
	b, err := c.group.dataset.data.Dataset.Inventory(most)
	var cannot *iterable.InventoryError
	switch {
	case errors.Is(err, iterable.ErrLargeInventory):
		return wire.Session{NoInventory: wire.InventoryLarge}, nil
	case errors.As(err, &cannot):
		return wire.Session{NoInventory: cannot.Text}, nil
	case err != nil:
		return wire.Session{}, err
	}
	return wire.Session{Inventory: int64(len(b))}, c.engine.saveBeside(name, b)
}

// saveDocuments writes documents for the first client that asks.
func (c *client) saveDocuments(name, library string) (r wire.Session, err error) {
	d := c.group.dataset
	if _, err := c.engine.beside(name); err != nil {
		return r, err
	}
	if d.data.Documents == nil || d.asked.Swap(true) {
		return r, nil
	}
	b, err := d.data.Documents(d.ctx, library)
	if err != nil || len(b) == 0 {
		return r, err
	}
	return wire.Session{Documents: int64(len(b))}, c.engine.saveBeside(name, b)
}

// countsName matches the names of directories through which nodes that count together exchange
// their counts.
var countsName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,200}\.counts$`)

const (
	mostFound = 64 << 20 // bytes of the inventory that other nodes get before counting
	foundFile = "found"
)

// sharedCounts returns the directory of counts of this name; "" if it has gone.
func (e *engine) sharedCounts(name string) (string, error) {
	if e.dir == "" || !countsName.MatchString(name) {
		return "", wire.ProtocolError("%q is not the name of a directory of counts", name)
	}
	path := filepath.Join(e.dir, name)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil && !info.IsDir() {
		err = wire.ProtocolError("%s is not a directory", name)
	}
	return path, err
}

// writeFound writes an inventory for the nodes that count too. If it cannot be handed on, they wait
// until the data set is open, and the trainer learns why.
func writeFound(dir string, inventory func(most int64) ([]byte, error)) error {
	b, err := inventory(mostFound)
	var cannot *iterable.InventoryError
	if errors.Is(err, iterable.ErrLargeInventory) || errors.As(err, &cannot) {
		return nil
	}
	path := filepath.Join(dir, foundFile)
	if err == nil {
		err = os.WriteFile(path+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	return err
}
