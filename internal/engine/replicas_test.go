package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/shuffle"
)

// replicas are the clients of r replicas with k torch workers each; the workers of a replica call
// their iteration by a name of the replica's.
func replicas(t *testing.T, e *engine, r, k int) []*sink {
	t.Helper()
	var all []*sink
	for range r * k {
		all = append(all, newSink(t, connect(t, e, "d", testSpec())))
	}
	return all
}

func joinReplicas(all []*sink, r int, id string, change func(replica int, j *wire.Join)) {
	k := len(all) / r
	for i, s := range all {
		j := wire.Join{Iteration: fmt.Sprint(id, " of ", i/k), Replica: i / k, Replicas: r, Replication: r, Worker: i % k, Workers: k, Rank: 1, WorldSize: 2}
		if change != nil {
			change(i/k, &j)
		}
		s.ask(j)
	}
}

// Replicas have the same batches, epoch after epoch, in memory that was filled once.
func TestReplicas(t *testing.T) {
	for _, c := range []struct{ replicas, workers int }{{2, 1}, {4, 1}, {2, 3}} {
		t.Run(fmt.Sprintf("%d replicas, %d workers", c.replicas, c.workers), func(t *testing.T) {
			e := testEngine(t, Options{})
			all := replicas(t, e, c.replicas, c.workers)
			for epoch := range 3 {
				joinReplicas(all, c.replicas, fmt.Sprint(epoch), nil)
				parts, ends := drain(all)
				for i := range c.replicas {
					own := parts[i*c.workers : (i+1)*c.workers]
					same(t, fmt.Sprintf("epoch %d, replica %d", epoch, i), idsOf(own...), epochIDs(t, testSpec(), 1, 2, nil, epoch))
				}
				for _, end := range ends {
					if end.Left || end.State.Epoch != uint64(epoch)+1 {
						t.Errorf("it ends with %+v", end)
					}
				}
			}
			made := 0
			for _, s := range all {
				if made += s.rings; s.rings > 0 && len(s.shared) != c.replicas-1 {
					t.Errorf("a ring is shared with %d others", len(s.shared))
				}
			}
			if made == 0 || made%c.workers > 0 {
				t.Errorf("%d rings for %d workers", made, c.workers)
			}
		})
	}
}

// A replica that resumes elsewhere than the others is an error of all; the same state is none, and
// it resumes at another number of replicas.
func TestReplicasResume(t *testing.T) {
	e := testEngine(t, Options{})
	all := replicas(t, e, 2, 1)
	joinReplicas(all, 2, "0", nil)
	all[0].batches(3)
	all[1].batches(3)
	state := all[0].client.participant.iteration.state
	state.Position = 300
	for _, s := range all {
		s.leave()
	}
	epoch := int64(7)
	for _, c := range []struct {
		name   string
		change func(replica int, j *wire.Join)
		wrong  bool
	}{
		{"one has a state", func(i int, j *wire.Join) {
			if i == 1 {
				j.State, j.StateSerial = &state, "one"
			}
		}, true},
		{"states differ", func(i int, j *wire.Join) {
			other := state
			other.Position += int64(i) * 100
			j.State, j.StateSerial = &other, fmt.Sprint("differ", i)
		}, true},
		{"one sets an epoch", func(i int, j *wire.Join) {
			if i == 0 {
				j.Epoch, j.EpochSerial = &epoch, "e"
			}
		}, true},
		{"all have it", func(i int, j *wire.Join) { j.State, j.StateSerial = &state, fmt.Sprint("all", i) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := 2
			var first wire.Join
			for i := range k {
				j := wire.Join{Iteration: fmt.Sprint(c.name, i), Replica: i, Replicas: 2, Rank: 1, WorldSize: 2}
				c.change(i, &j)
				if err := all[i].client.join(j, all[i]); (err != nil) != (c.wrong && i == 1) || err != nil && wire.FailureOf(err).Kind != wire.KindRanks {
					t.Errorf("replica %d: %v", i, err)
				}
				first = j
			}
			if c.wrong {
				if f := all[0].failure(); f.Kind != wire.KindRanks || !strings.Contains(f.Text, "replicas 0 and 1 of rank 1 do not begin at the same place") {
					t.Errorf("%+v", f)
				}
				return
			}
			parts, _ := drain(all)
			for _, p := range parts {
				same(t, "resumed", idsOf(p), epochIDs(t, testSpec(), 1, 2, first.State, 0))
			}
		})
	}
	more := replicas(t, e, 4, 1)
	joinReplicas(more, 4, "more", func(i int, j *wire.Join) {
		j.Rank, j.WorldSize, j.State, j.StateSerial = 0, 1, &state, fmt.Sprint("more", i)
	})
	parts, _ := drain(more)
	for _, p := range parts {
		same(t, "four replicas", idsOf(p), epochIDs(t, testSpec(), 0, 1, &state, 0))
	}
}

// An epoch that all replicas set, before or after others have joined, is used once.
func TestReplicasSetEpoch(t *testing.T) {
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprint("all before the first JOIN: ", before), func(t *testing.T) {
			e := testEngine(t, Options{})
			all := replicas(t, e, 2, 1)
			set := func(i int) {
				if _, err := all[i].client.setEpoch(wire.SetEpoch{Rank: 1, Epoch: 5, Serial: fmt.Sprint("s", i)}); err != nil {
					t.Fatal(err)
				}
			}
			epoch := int64(5)
			join := func(i int, id string) {
				all[i].ask(wire.Join{Iteration: id + fmt.Sprint(i), Replica: i, Replicas: 2, Rank: 1, WorldSize: 2, Epoch: &epoch, EpochSerial: fmt.Sprint("s", i)})
			}
			if set(0); before {
				set(1)
			}
			if join(0, "a"); !before {
				set(1)
			}
			join(1, "a")
			for _, id := range []string{"a", "b"} {
				if id == "b" {
					join(0, id)
					join(1, id)
				}
				parts, _ := drain(all)
				for _, batches := range parts {
					if want := map[string]int64{"a": 5, "b": 6}[id]; batches[0].epoch != want {
						t.Errorf("epoch %d, want %d", batches[0].epoch, want)
					}
				}
			}
		})
	}
}

// A replica that has not joined yet stands before the iteration that others wait for.
func TestReplicasStand(t *testing.T) {
	e := testEngine(t, Options{})
	all := replicas(t, e, 2, 1)
	all[0].ask(wire.Join{Iteration: "0", Replica: 0, Replicas: 2, WorldSize: 1})
	for replica, want := range []uint64{1, 0} {
		at, err := all[replica].client.ask(wire.Ask{WorldSize: 1, Replica: replica, Replicas: 2})
		if err != nil || at.State.Epoch != want || at.NextEpoch != int64(want) {
			t.Errorf("replica %d stands at %+v: %v", replica, at, err)
		}
	}
	all[1].ask(wire.Join{Iteration: "1", Replica: 1, Replicas: 2, WorldSize: 1})
	drain(all)
}

func TestReplicasLate(t *testing.T) {
	e := testEngine(t, Options{ReplicaTimeout: time.Millisecond})
	all := replicas(t, e, 4, 1)
	all[2].ask(wire.Join{Iteration: "0", Replica: 2, Replicas: 4, Rank: 1, WorldSize: 2})
	want := "of the 4 replicas of rank 1 on this machine, 0, 1, 3 have not begun to iterate within 1ms"
	if f := all[2].failure(); f.Kind != wire.KindTimeout || f.Text != want || f.Hint == "" {
		t.Errorf("%+v", f)
	}
}

func TestReplicasHearWhoIsLate(t *testing.T) {
	e := testEngine(t, Options{ReplicaNotice: time.Millisecond})
	all := replicas(t, e, 3, 1)
	all[1].ask(wire.Join{Iteration: "0", Replica: 1, Replicas: 3, Rank: 1, WorldSize: 2})
	n := <-all[1].noted
	if want := "after 1ms the iteration still waits for 0, 2 of the 3 replicas of rank 1: "; n.Level != "warning" || !strings.HasPrefix(n.Text, want) {
		t.Errorf("%+v", n)
	}
}

// A replica that dies ends the iteration of the others, also before all have joined.
func TestReplicaDies(t *testing.T) {
	for _, complete := range []bool{true, false} {
		t.Run(fmt.Sprint("complete: ", complete), func(t *testing.T) {
			e := testEngine(t, Options{})
			all := replicas(t, e, 3, 1)
			if complete {
				joinReplicas(all, 3, "0", nil)
				all[1].batches(2)
			} else {
				for i := range 2 {
					all[i].ask(wire.Join{Iteration: fmt.Sprint(i), Replica: i, Replicas: 3, Rank: 1, WorldSize: 2})
				}
			}
			all[1].client.close()
			want := "replica 1 of 3 of rank 1 (process 42) ended within the epoch"
			if f := all[0].failure(); f.Kind != wire.KindInternal || f.Text != want {
				t.Errorf("%+v", f)
			}
			if complete {
				if f := all[2].failure(); f.Text != want {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// A replica that leaves is not missed, and the next epoch has it again.
func TestReplicaLeaves(t *testing.T) {
	e := testEngine(t, Options{})
	all := replicas(t, e, 2, 1)
	joinReplicas(all, 2, "0", nil)
	all[0].batches(1)
	if end := all[0].leave(); !end.Left {
		t.Errorf("%+v", end)
	}
	batches, _ := all[1].batches(-1)
	same(t, "the one that stayed", idsOf(batches), epochIDs(t, testSpec(), 1, 2, nil, 0))
	joinReplicas(all, 2, "1", nil)
	parts, _ := drain(all)
	for _, p := range parts {
		same(t, "the next epoch", idsOf(p), epochIDs(t, testSpec(), 1, 2, nil, 1))
	}
}

func TestReplicasOutOfRange(t *testing.T) {
	e := testEngine(t, Options{})
	c := newSink(t, connect(t, e, "d", testSpec()))
	for _, j := range []wire.Join{{Replica: 2, Replicas: 2}, {Replica: -1, Replicas: 2}, {Replica: 1}, {Replicas: 65}} {
		j.Iteration = "0"
		if err := c.client.join(j, c); wire.FailureOf(err).Kind != wire.KindValue {
			t.Errorf("replica %d of %d: %v", j.Replica, j.Replicas, err)
		}
	}
}

// serveReplicas are connections that read the wares as replicas.
func serveReplicas(t *testing.T, r int, change func(*Options, *Data)) []*testClient {
	t.Helper()
	path := serveWares(t, wares(t, 3, 70, someLarge), change)
	var all []*testClient
	for range r {
		c := dial(t, path)
		if _, err := c.open(opening); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// joinServed joins all; JOINED comes when all have.
func joinServed(t *testing.T, all []*testClient, id string) (joined []wire.Joined) {
	t.Helper()
	for i, c := range all {
		if err := c.send(wire.FrameJoin, wire.Join{Iteration: fmt.Sprint(id, i), Replica: i, Replicas: len(all), WorldSize: 1}); err != nil {
			t.Fatal(err)
		}
	}
	joined = make([]wire.Joined, len(all))
	for i, c := range all {
		if err := c.ask(wire.FrameJoined, &joined[i]); err != nil {
			t.Fatal(err)
		}
	}
	return joined
}

// Replicas map one ring, whose slots are the same for all and free when all gave them back. Large
// batches grow it, epochs go on in it, and its memory goes with the last.
func TestServeReplicas(t *testing.T) {
	all := serveReplicas(t, 3, nil)
	for epoch := range 3 {
		joined := joinServed(t, all, fmt.Sprint(epoch))
		var group sync.WaitGroup
		ids, slots := make([][][]string, len(all)), make([][]wire.Announcement, len(all))
		for i, c := range all {
			group.Go(func() {
				for {
					b, end, err := c.batch()
					if err != nil || end != nil {
						if err != nil {
							t.Error(err)
						}
						return
					}
					columns, err := b.columns(joined[i].Schema)
					if err != nil {
						t.Error(err)
						return
					}
					ids[i], slots[i] = append(ids[i], columns[0]), append(slots[i], b.Announcement)
					if err := c.release(b); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		for i := range all {
			if !slices.EqualFunc(ids[i], ids[0], slices.Equal[[]string]) || !slices.Equal(slots[i], slots[0]) || len(ids[i]) == 0 {
				t.Fatalf("epoch %d: replica %d has other batches than replica 0, or in other memory", epoch, i)
			}
		}
	}
	for _, c := range all {
		c.close()
	}
	eventually(t, "the rings are gone", func() bool { return rings(t) == 0 })
}

// A slot that one replica keeps is not written again, whatever the others give back.
func TestServeReplicasKeep(t *testing.T) {
	all := serveReplicas(t, 2, nil)
	joined := joinServed(t, all, "0")
	kept, _, err := all[1].batch()
	if err != nil {
		t.Fatal(err)
	}
	before, err := kept.columns(joined[1].Schema)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() { iterate(t, all[0], joined[0].Schema, false) })
	group.Go(func() { iterate(t, all[1], joined[1].Schema, false) })
	group.Wait()
	if after, err := kept.columns(joined[1].Schema); err != nil || !slices.EqualFunc(before, after, slices.Equal[[]string]) {
		t.Errorf("a batch that was kept has changed: %v", err)
	}
	if err := all[0].release(kept); err != nil { // again: the first gave it back already
		t.Error(err)
	}
	kept.Seq += 1 << 40
	all[1].releaseQuietly(kept)
	if _, err := all[1].conn.Write(wire.AppendFrame(nil, wire.FrameRelease, 0)); err != nil {
		t.Fatal(err)
	}
	var f *wire.Failure
	if _, _, err := all[1].batch(); !errors.As(err, &f) || f.Kind != wire.KindProtocol || !strings.Contains(f.Text, "was released with batch") {
		t.Errorf("a slot was given back with another batch: %v", err)
	}
	if _, err := all[0].join(wire.Join{Iteration: "alone", WorldSize: 1}); err != nil {
		t.Errorf("the other replica: %v", err)
	}
}

// A replica that is killed with slots in its hands ends the others' epoch with an error, and
// nothing stays.
func TestServeReplicaKilled(t *testing.T) {
	all := serveReplicas(t, 3, nil)
	joinServed(t, all, "0")
	for range 2 {
		if _, _, err := all[2].batch(); err != nil {
			t.Fatal(err)
		}
	}
	all[2].close()
	for _, c := range all[:2] {
		for {
			b, end, err := c.batch()
			if end != nil {
				t.Fatalf("the epoch ended: %+v", end)
			}
			if err != nil {
				if !strings.Contains(err.Error(), "replica 2 of 3 of rank 0") {
					t.Errorf("%v", err)
				}
				break
			}
			if err := c.release(b); err != nil {
				t.Fatal(err)
			}
		}
		c.close()
	}
	eventually(t, "the rings are gone", func() bool { return rings(t) == 0 })
}

// The comparison of ranks sees how many claim each data rank.
func TestReplicationIsCompared(t *testing.T) {
	e := testEngine(t, Options{})
	all := []*sink{newSink(t, connect(t, e, "a", testSpec())), newSink(t, connect(t, e, "b", testSpec()))}
	for i, s := range all {
		j := wire.Join{Iteration: "0", Rank: i, WorldSize: 2, Replication: 1 + i, Agree: "line", State: (*shuffle.State)(nil)}
		if err := s.client.join(j, s); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range all {
		if f := s.failure(); f.Kind != wire.KindRanks || !strings.Contains(f.Text, "replication: none on rank 0, 2 on rank 1") {
			t.Errorf("%+v", f)
		}
	}
}
