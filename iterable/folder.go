package iterable

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

// suggestPattern adds to the error of a file that is not parquet how the parquet files of its
// directory are named alone, where an address named the directory.
func suggestPattern(err error, addresses []string) error {
	var e *rowgroup.Error
	if !errors.Is(err, rowgroup.ErrNotParquet) || !errors.As(err, &e) || e.Hint != "" {
		return err
	}
	if strings.HasSuffix(e.URI, ".parquet") { // the pattern would find it again
		e.Hint = "write it again or remove it, or list the addresses of the other files in a file and give @FILE"
		return err
	}
	for _, address := range addresses {
		if dir := strings.TrimRight(address, "/"); strings.HasPrefix(e.URI, dir+"/") {
			e.Hint = fmt.Sprintf("to read the parquet files of this directory alone, give %s/**/*.parquet", shard.Redact(dir))
			break
		}
	}
	return err
}
