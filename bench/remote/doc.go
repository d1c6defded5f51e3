// Command remote provides the rivals and the proxy of the storage benchmarks:
//
//	remote read  --way s3|sdk|hdfs|library|gs|az --ranges FILE [--in-flight N]   reads ranges and prints what it took
//	remote put   --bucket NAME [--prefix NAME] [--files N] DIR             uploads the parquet files of a directory
//	remote proxy --target HOST:PORT [--latency D | --log FILE]             forwards to a server
//
// The ways s3, hdfs, gs and az go through our stores. The rivals sdk and library send the same
// ranges, as many at once, through the library below each store, with nothing checked and nothing
// kept: what no store can be much quicker than. Every way reads each range into memory that its worker keeps.
//
// A proxy forwards until its standard input ends. With a latency it delays what a client sends and
// looks at nothing; with a log it writes one JSON object for each request, with the bytes of the
// response's body that went to the client.
//
// Buckets are reached by the variables of the environment that their SDKs know (AWS_ENDPOINT_URL,
// STORAGE_EMULATOR_HOST, AZURE_STORAGE_CONNECTION_STRING and the like), HDFS by HADOOP_CONF_DIR, or
// by the ranges' own addresses.
package main
