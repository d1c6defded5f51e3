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
// a file that a killed job left is never read.

// inventoryName matches the names of these files. Python's sweep knows them too.
var inventoryName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,200}\.inventory$`)

// beside is the path of an inventory in the directory of the socket.
func (e *engine) beside(name string) (string, error) {
	if e.dir == "" || !inventoryName.MatchString(name) {
		return "", wire.ProtocolError("%q is not the name of an inventory", name)
	}
	return filepath.Join(e.dir, name), nil
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
	path, err := c.engine.beside(name)
	if err != nil {
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
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return wire.Session{}, err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Close()); err != nil {
		return wire.Session{}, errors.Join(err, os.Remove(path))
	}
	return wire.Session{Inventory: int64(len(b))}, nil
}
