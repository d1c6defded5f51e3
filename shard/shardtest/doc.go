// Package shardtest holds what tests of stores share: Run, the conformance suite that each store
// must pass, and Faults, a store that fails where a test wants it to.
package shardtest
