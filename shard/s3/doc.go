// Package s3 is the store of buckets: s3://, s3a:// and s3n:// addresses, on AWS and on servers that speak its protocol.
package s3
