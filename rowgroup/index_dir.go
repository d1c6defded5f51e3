package rowgroup

import "path/filepath"

// IndexDir is where the index on disk lies by the environment: in the directory index of
// SHARDFEED_CACHE_DIR, else of SLURM_TMPDIR/shardfeed, else of XDG_CACHE_HOME/shardfeed, else of
// HOME/.cache/shardfeed. It is "" when none of them is set.
func IndexDir(env func(string) string) string {
	switch {
	case env("SHARDFEED_CACHE_DIR") != "":
		return filepath.Join(env("SHARDFEED_CACHE_DIR"), "index")
	case env("SLURM_TMPDIR") != "":
		return filepath.Join(env("SLURM_TMPDIR"), "shardfeed", "index")
	case env("XDG_CACHE_HOME") != "":
		return filepath.Join(env("XDG_CACHE_HOME"), "shardfeed", "index")
	case env("HOME") != "":
		return filepath.Join(env("HOME"), ".cache", "shardfeed", "index")
	}
	return ""
}
