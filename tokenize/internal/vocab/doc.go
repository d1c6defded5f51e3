// Package vocab keeps the tokens of a vocabulary in little memory: their texts in one string,
// and a hash table of their numbers. A vocabulary of 256,000 tokens takes 5 MB.
package vocab
