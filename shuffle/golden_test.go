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
		{Options{Buffer: 700}, 7, 0, "51df46cc9a638314547c45568fd5ee2b"},
		{Options{Buffer: 700}, 7, 1, "a4917493196df4f9117ef78960826603"},
		{Options{Buffer: 700, WorldSize: 8}, 7, 0, "857f0ee3f0982b1ba23b04b2cb0abac0"},
		{Options{Buffer: 3000, WorldSize: 6, UnitRows: 100}, 1 << 63, 3, "ba5b2a2125c62d97211522792863c8e1"},
		{Options{Buffer: 3000, UnitRows: 100, Start: Direct}, 7, 0, "8b0b9893317d6e4c4f75d56019415293"},
		{Options{Buffer: 3000, UnitRows: 100, Spread: 2, Assign: PerEpoch}, 7, 5, "b037f7002eab64dc7e5128c4d25e91ad"},
		{Options{Buffer: 3000, UnitRows: 100, Lanes: 11, Tail: Carry}, 7, 4, "a7865cd38b59768c9b955285200f034c"},
		{Options{Buffer: 1 << 40}, 0, 0, "7933c686b82c4ff1d67bf4e56b72f85a"},
		{Options{Buffer: 1, WorldSize: 16}, 7, 0, "bdcc038ca3ddf166729d7681fa8bd323"},
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
		{Options{Buffer: 700}, 0, "994c670404472036d767506e56027049"},
		{Options{Buffer: 3000, WorldSize: 6, UnitRows: 100}, 3, "4b75370c5a5a559ba2cea5b24c03e5b5"},
		{Options{Buffer: 3000, UnitRows: 100, Lanes: 11, Tail: Carry}, 4, "6e0f681615a52a0152474321549dfb08"},
		{Options{Buffer: 3000, UnitRows: 100, Spread: 2, Assign: PerEpoch}, 5, "85834eba1387f08fc9b2a2771a247ea1"},
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
	goldenVersions = "ad48bdc229edc0f5d1e34243835d77dc7d7f488cf63112085a6fd3f391ae6036"
	goldenUnits    = "487c217eec465f5c"

	goldenRuledUnits = "e51c7d8e44b15667"
)
