// Package crc computes CRC-32 (IEEE 802.3) of bytes that come from memory, with vector instructions
// where the processor has them. It imports nothing of ours.
package crc
