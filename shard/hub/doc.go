// Package hub is the store of data sets on the Hugging Face hub: hf:// addresses.
//
// # Addresses
//
//	hf://datasets/org/name                        all files of the data set, at its branch main
//	hf://datasets/org/name@v1.0/data/*.parquet    at a branch, a tag or a commit
//	hf://datasets/org/name@refs/convert/parquet   the copy in parquet that the hub makes
//
// A list asks once for the commit of the revision, and the addresses of its shards have that
// commit. So a run, a cache and a saved plan stay right when the branch moves. A shard's version is
// the hash of its content.
//
// # Requests
//
// A list takes a request for the commit, and one for each thousand files. The hub limits requests,
// whatever they bring, and redirects each range that is read to a URL of its own. So up to 4 MiB
// between two ranges are read over, and parts of up to 32 MiB are read. Once the limit is reached,
// requests wait as long as the hub asks, with a note. Package web makes the requests: the token is
// sent to the hub, and to no server to which it redirects.
//
// # Files that are there
//
// What the hub's own client has downloaded, below HF_HUB_CACHE, is read from the disk. With
// HF_HUB_OFFLINE nothing else is.
//
// The token is Options.Token, or else what the hub's own client would use: HF_TOKEN, the file that
// HF_TOKEN_PATH names, or the file token below HF_HOME.
package hub
