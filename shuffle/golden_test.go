package shuffle

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"testing"
)

// These numbers define the order: they are the same on every machine and in every version. A change
// here is another order and wants another name.
var (
	goldenAssign      = [4]uint64{0x1cd9d01e7e3a11d7, 0xa38bf7b0f68a4e7f, 0x2052b605037e5b79, 0x65dceab99188bb87}
	goldenOrder       = [4]uint64{0xeae755758b3cd5de, 0x39d6fa916d90ceb8, 0xd7414bc5e03967bd, 0x43da156a9d4438b1}
	goldenRows        = [4]uint64{0x9e237436bf49e724, 0xeb98c6f27185faa3, 0x8b379621009e827c, 0x2743b6f45e0076cd}
	goldenTick        = [4]uint64{0x74a237f4c944ec6b, 0x13db6cf49d6fad99, 0x31c4209526df6d13, 0x6f159494c853d2e9}
	goldenBelow       = []uint64{0, 1, 0, 9, 672, 497019, 2747751440, 8449040718198804923, 13404277035010005677}
	goldenPermutation = []uint32{1, 3, 10, 4, 11, 0, 5, 2, 8, 6, 7, 9}
)

// goldenManifest is irregular: shards without groups, groups without rows, of one row and of many.
func goldenManifest() *Manifest {
	return manifestOf([]int64{10}, []int64{1, 0, 3000, 1}, nil, []int64{500, 500, 500, 500}, []int64{0}, []int64{1234, 777}, []int64{2})
}

func TestGoldenOrder(t *testing.T) {
	for _, c := range []struct {
		o     Options
		seed  uint64
		epoch uint64
		want  string
	}{
		{Options{Buffer: 700}, 7, 0, "f2328a482d078399844b3619b72680f9"},
		{Options{Buffer: 700}, 7, 1, "155225363025fe6827907a08c99bdfdc"},
		{Options{Buffer: 700, WorldSize: 8}, 7, 0, "7da3bb93766d858900fa423e674d5e14"},
		{Options{Buffer: 3000, WorldSize: 6, UnitRows: 100}, 1 << 63, 3, "8582fe929297eea7ee7c527c49753883"},
		{Options{Buffer: 3000, UnitRows: 100, Start: Direct}, 7, 0, "dc5824bc6787c30248c302bf18fdfd0d"},
		{Options{Buffer: 3000, UnitRows: 100, Spread: 2, Assign: PerEpoch}, 7, 5, "33a813a3e750e2c8dd9a398e1d12b3be"},
		{Options{Buffer: 3000, UnitRows: 100, Lanes: 11, Tail: Carry}, 7, 4, "2c84db4246bc8d81acd6cae4a74d74e1"},
		{Options{Buffer: 1 << 40}, 0, 0, "f0dd75bd8695ab682aa757bd3f72d5c7"},
		{Options{Buffer: 1, WorldSize: 16}, 7, 0, "b7735ac30e45863c9ce87e2c6dd91678"},
	} {
		p := newPlan(t, goldenManifest(), c.o, c.seed)
		if got := orderHash(t, p.Epoch(c.epoch)); got != c.want {
			t.Errorf("%+v seed %d epoch %d: order %s, want %s", c.o, c.seed, c.epoch, got, c.want)
		}
	}
}

// goldenRuled is goldenManifest and its units under a rule that empties units, thins and repeats
// them.
func goldenRuled(t *testing.T, unitRows int64) (*Manifest, []Unit) {
	m := goldenManifest()
	m.Rule = someRule
	units := wholeUnits(t, m, unitRows)
	for i := range units {
		units[i].Samples = units[i].Rows() * int64(i%7) / 4
	}
	return m, units
}

func TestGoldenOrderOfARule(t *testing.T) {
	for _, c := range []struct {
		o     Options
		epoch uint64
		want  string
	}{
		{Options{Buffer: 700}, 0, "9f547794cb27a08c3fc6ec9d2243b52f"},
		{Options{Buffer: 3000, WorldSize: 6, UnitRows: 100}, 3, "2ed2aa6174be11fc06e069bc0e5d8717"},
		{Options{Buffer: 3000, UnitRows: 100, Lanes: 11, Tail: Carry}, 4, "29142a6d7831925051b86d3767325525"},
		{Options{Buffer: 3000, UnitRows: 100, Spread: 2, Assign: PerEpoch}, 5, "246db576f9608f5a97aa07de01780fef"},
	} {
		m, units := goldenRuled(t, c.o.UnitRows)
		p := planOf(t, m, units, c.o, 7)
		if got := orderHash(t, p.Epoch(c.epoch)); got != c.want {
			t.Errorf("%+v epoch %d: order %s, want %s", c.o, c.epoch, got, c.want)
		}
	}
}

func orderHash(t *testing.T, e *Epoch) string {
	h := sha256.New()
	for _, r := range epochRows(t, e) {
		h.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(r.group)), uint64(r.row)))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// The first rows in clear, for a reimplementation of the order.
func TestGoldenFirstRows(t *testing.T) {
	p := newPlan(t, manifestOf([]int64{4, 4}, []int64{4}), Options{Buffer: 6, WorldSize: 2}, 1)
	if got := fmt.Sprint(p.params.Lanes, p.params.Quantum, p.params.Life, epochRows(t, p.Epoch(0))); got != goldenFirst {
		t.Errorf("got  %s\nwant %s", got, goldenFirst)
	}
}

const goldenFirst = "2 1 1 [{0 3} {1 2} {0 1} {1 3} {0 2} {2 2} {0 0} {2 3} {1 1} {2 0} {1 0} {2 1}]"

func TestGoldenHashes(t *testing.T) {
	m := goldenManifest()
	ruled, units := goldenRuled(t, 0)
	for _, c := range [][2]string{
		{m.Content(), goldenContent},
		{m.Only(m.Sampled(Units{})).Content(), goldenSampled},
		{m.Versions(), goldenVersions},
		{newPlan(t, m, Options{}, 0).UnitsHash(), goldenUnits},
		{planOf(t, ruled, units, Options{}, 0).UnitsHash(), goldenRuledUnits},
		{ruled.Content(), goldenContent},
	} {
		if c[0] != c[1] {
			t.Errorf("hash %s, want %s", c[0], c[1])
		}
	}
}

const (
	goldenContent  = "f2306c03066803da0287e21b311e920ccab7ec6c68a84c8233534713716d2c35"
	goldenSampled  = "aa79484cb6ad6175fd1b2f7fdbdd231957d87a6a527cd361e4e8008dc7d45b86"
	goldenVersions = "ad48bdc229edc0f5d1e34243835d77dc7d7f488cf63112085a6fd3f391ae6036"
	goldenUnits    = "3834ab3331e57c5c"

	goldenRuledUnits = "a59ad99e39d9f9e7"
)
