// Package estimate predicts the memory of decoded rows: of row groups, and of the densest rows.
package estimate
