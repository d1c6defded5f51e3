package shuffle

import (
	"strings"
	"testing"
)

// Replicas take the same rows of each step, which are those of the data rank in the smaller world.
func TestReplicasTakeTheSameRows(t *testing.T) {
	p := newPlan(t, manifestOf([]int64{300, 211}, []int64{97}), Options{Buffer: 100, WorldSize: 4}, 5)
	e := p.Epoch(0)
	byLane := lanesOf(e)
	for _, c := range []struct{ world, replicas int }{{8, 2}, {8, 4}, {8, 8}, {6, 2}, {5, 1}, {12, 3}, {4, 0}} {
		data := c.world / max(1, c.replicas)
		var taken int
		for rank := range c.world {
			w, err := Worker{Rank: rank, WorldSize: c.world, Worker: 1, Workers: 2}.OfReplicas(c.replicas)
			if err != nil {
				t.Fatal(err)
			}
			if want := (Worker{Rank: rank / max(1, c.replicas), WorldSize: data, Worker: 1, Workers: 2}); w != want {
				t.Errorf("rank %d of %d in replicas of %d is %+v, want %+v", rank, c.world, c.replicas, w, want)
			}
			v, err := p.View(Worker{Rank: w.Rank, WorldSize: w.WorldSize})
			if err != nil {
				t.Fatal(err)
			}
			taken += len(shareRows(t, v, e, 0, int64(10*data), byLane))
		}
		if taken != 10*data*max(1, c.replicas) {
			t.Errorf("%+v: %d rows are taken of a step of %d", c, taken, 10*data)
		}
	}
}

func TestReplicasRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		w    Worker
		n    int
		says string
	}{
		{"does not divide", Worker{WorldSize: 8}, 3, "replication: must divide the world size of 8 (1, 2, 4, 8), got 3"},
		{"negative", Worker{WorldSize: 8}, -2, "got -2"},
		{"more than ranks", Worker{}, 2, "world size of 1 (1), got 2"},
		{"no such rank", Worker{Rank: 8, WorldSize: 8}, 2, "8 is not a rank of 8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if w, err := c.w.OfReplicas(c.n); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v, %v", w, err)
			}
		})
	}
}

func TestLocalRanks(t *testing.T) {
	for _, c := range []struct{ ranks, replicas, want int }{{0, 0, 0}, {8, 0, 8}, {8, 1, 8}, {8, 2, 4}, {8, 8, 1}, {8, 16, 1}, {8, 3, 0}, {2, 3, 0}} {
		if got := LocalRanks(c.ranks, c.replicas); got != c.want {
			t.Errorf("%d ranks here, %d replicas: %d, want %d", c.ranks, c.replicas, got, c.want)
		}
	}
}
