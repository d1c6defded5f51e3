package regular

import "strings"

// Home replaces the ~ that a path starts with by the home directory, if that is known. Shells leave
// it in --cache-dir=~/cache, and files of containers and services in variables.
func Home(path, home string) string {
	if home != "" && (path == "~" || strings.HasPrefix(path, "~/")) {
		return home + path[1:]
	}
	return path
}
