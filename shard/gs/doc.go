// Package gs is the store of buckets of Google Cloud Storage: gs:// addresses, and gcs:// ones. It
// reads and lists; it never writes to a bucket.
//
// # Credentials
//
// They come from Options, or else from where Google's own libraries find them: the file that
// GOOGLE_APPLICATION_CREDENTIALS names, the file that gcloud auth application-default login writes,
// the metadata server of the machine or the pod. A file may hold a service account's key, a user's
// login, an account to impersonate or a configuration of workload identity federation. Tokens are
// fetched again before they expire, and files are read again then. With STORAGE_EMULATOR_HOST
// requests go there, and are anonymous.
//
// # Requests
//
// All requests use the JSON interface. A shard's version is the object's generation: each read
// demands it, and each answer is compared with it. Keys are literal: nothing is decoded or cleaned.
package gs
