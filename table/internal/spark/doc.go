// Package spark reads schemas and partition values as Spark writes them: schemas as JSON, in logs
// of Delta tables and in Hive metastores, and values as text.
package spark
