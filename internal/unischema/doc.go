// Package unischema reads the schemas that petastorm keeps beside a data set: a pickled Unischema,
// the value of a key in the footer of the file _common_metadata.
//
// A pickle is a program for a small stack machine (pickle.py and pickletools.py of CPython define
// it). This package runs the instructions that make values and does not run code: a call of a class
// becomes an object with the class's name and its arguments. It accepts the classes that a
// Unischema has and refuses others. It allocates at most a small multiple of the bytes that it
// reads.
package unischema
