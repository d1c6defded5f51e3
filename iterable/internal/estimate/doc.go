// Package estimate predicts the memory of decoded rows: of row groups and slices of them, of loads
// and the parts that they are divided into, and of the densest rows. It reads no data.
package estimate
