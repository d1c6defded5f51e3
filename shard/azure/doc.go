// Package azure is the store of Azure Blob Storage and Data Lake Storage: az://, abfss:// and
// wasbs:// addresses. It reads and lists; it never writes to a container.
//
// # Addresses
//
//	az://container/path                                       the account is an option
//	abfss://container@account.dfs.core.windows.net/path       and abfs://
//	wasbs://container@account.blob.core.windows.net/path      and wasb://
//
// All are read by the REST interface of blobs over https, accounts with a hierarchical namespace
// and OneLake (abfss://workspace@onelake.dfs.fabric.microsoft.com/...) too. Hosts must be Azure's,
// since tokens are sent to them; Options.Endpoint names another server.
//
// # Credentials
//
// The first of: what Options has; a connection string, a key or a shared access signature of the
// environment (AZURE_STORAGE_*); a client secret, a token of workload identity (AZURE_CLIENT_ID and
// its like); the managed identity of an app or of Azure ML (IDENTITY_ENDPOINT, MSI_ENDPOINT), of a
// machine or a pod (IMDS). A shared key signs requests to its own account only.
//
// # Shards
//
// A shard's version is the blob's ETag: each read demands it, and each answer is compared with it.
// Keys are literal: nothing is decoded or cleaned.
package azure
