// Package avro reads Avro object container files, the format of Iceberg's manifests.
//
// [Read] decodes the fields that its caller wants and steps over the others by the file's schema,
// which costs a fraction: most bytes of a manifest are statistics. A wanted field is found by its
// field ID, an attribute that Iceberg adds to Avro's schemas, or by its name in files without IDs.
//
// A file is read block by block, and one decompressed block is in memory. A block may have up to
// 512 MiB. Damaged files are errors that wrap [ErrCorrupt].
package avro
