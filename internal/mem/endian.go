//go:build !(386 || amd64 || arm || arm64 || loong64 || mipsle || mips64le || ppc64le || riscv64 || wasm)

package mem

// Batches are little-endian memory that other programs map, and pages are decoded in place, so a
// big-endian machine is refused here.
const _ = shardfeed_needs_a_little_endian_machine
