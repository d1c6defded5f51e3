// Package trie finds the tokens that a text starts with.
//
// A [Trie] is a double array: the child of a node for byte b is at the node's base XOR b. No two
// nodes have the same base, so a place is the child if it has the byte. A step costs one look-up. A
// trie of 250,000 tokens takes about 8 MB.
//
// A Trie is immutable. The package imports only the standard library.
package trie
