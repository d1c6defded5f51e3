package mem

import (
	"testing"
	"testing/fstest"
)

func TestCgroupLimit(t *testing.T) {
	const v2mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	const v1mount = "31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	const dockerV1 = "35 31 0:32 /docker/ab12 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
	const dockerV2 = "30 23 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
	tests := []struct {
		name           string
		groups, mounts string
		files          map[string]string
		want           int64
	}{
		{name: "no cgroups", want: 0},
		{
			name: "v2, the group's own", groups: "0::/a/b\n", mounts: v2mount,
			files: map[string]string{"sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/memory.max": "max\n"}, want: 1000,
		},
		{
			name: "v2, the parent's is smaller", groups: "0::/a/b\n", mounts: v2mount,
			files: map[string]string{"sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/memory.max": "900\n"}, want: 900,
		},
		{
			name: "v2, a sibling does not count", groups: "0::/a/b\n", mounts: v2mount,
			files: map[string]string{"sys/fs/cgroup/a/c/memory.max": "10\n", "sys/fs/cgroup/ab/memory.max": "10\n"}, want: 0,
		},
		{
			name: "v2, in a container", groups: "0::/\n", mounts: v2mount,
			files: map[string]string{"sys/fs/cgroup/memory.max": "4096\n"}, want: 4096,
		},
		{
			name: "v2, group outside of the namespace", groups: "0::/../../x\n", mounts: dockerV2,
			files: map[string]string{"sys/fs/cgroup/memory.max": "77\n"}, want: 77,
		},
		{name: "v2, none", groups: "0::/a\n", mounts: v2mount, files: map[string]string{"sys/fs/cgroup/a/memory.max": "max\n"}, want: 0},
		{
			name: "v1", groups: "9:cpu:/other\n5:memory:/job\n", mounts: v1mount,
			files: map[string]string{
				"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "5000\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n", "sys/fs/cgroup/cpu/other/memory.limit_in_bytes": "1\n",
			}, want: 5000,
		},
		{
			name: "v1, in a container without a namespace", groups: "5:memory:/docker/ab12\n", mounts: dockerV1,
			files: map[string]string{"sys/fs/cgroup/memory/memory.limit_in_bytes": "600\n"}, want: 600,
		},
		{
			name: "v1, controllers together", groups: "5:cpu,memory:/x\n", mounts: "35 31 0:32 / /cg rw - cgroup cgroup rw,cpu,memory\n",
			files: map[string]string{"cg/x/memory.limit_in_bytes": "8\n"}, want: 8,
		},
		{
			name: "hybrid: memory under v1", groups: "5:memory:/x\n0::/x\n", mounts: v1mount + v2mount,
			files: map[string]string{"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "12\n"}, want: 12,
		},
		{
			name: "damaged files", groups: "x\n0::\n5:memory\n", mounts: "a b - \n" + v2mount,
			files: map[string]string{"sys/fs/cgroup/memory.max": "lots\n"}, want: 0,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := fstest.MapFS{"proc/self/cgroup": {Data: []byte(test.groups)}, "proc/self/mountinfo": {Data: []byte(test.mounts)}}
			for name, s := range test.files {
				fsys[name] = &fstest.MapFile{Data: []byte(s)}
			}
			if got := cgroupLimit(fsys); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
	if got := cgroupLimit(fstest.MapFS{}); got != 0 {
		t.Errorf("without /proc: %d", got)
	}
}

// The files are the system's, yet a parser of outside bytes only ever returns.
func FuzzCgroup(f *testing.F) {
	f.Add("0::/a/b\n5:memory:/x\n", "30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n", "max\n")
	f.Add("0::/../..\n", "1 2 3 /../.. /x y - cgroup2\n", "12")
	f.Fuzz(func(t *testing.T, groups, mounts, limit string) {
		fsys := fstest.MapFS{
			"proc/self/cgroup": {Data: []byte(groups)}, "proc/self/mountinfo": {Data: []byte(mounts)},
			"sys/fs/cgroup/memory.max": {Data: []byte(limit)},
		}
		if n := cgroupLimit(fsys); n < 0 || n >= noLimit {
			t.Errorf("limit %d", n)
		}
	})
}

func TestMachineLimits(t *testing.T) {
	tests := []struct {
		m                   Machine
		ranks               int
		bytes, rank, shared int64
	}{
		{Machine{Installed: 1000}, 1, 1000, 250, 800},
		{Machine{Installed: 1000, Cgroup: 400}, 2, 400, 50, 320},
		{Machine{Installed: 1000, Cgroup: 4000}, 0, 1000, 250, 800},
		{Machine{Cgroup: 400}, 4, 400, 25, 320},
		{Machine{}, 1, 8 << 30, 2 << 30, (8 << 30) / 5 * 4},
	}
	for _, test := range tests {
		if b, r, s := test.m.Bytes(), test.m.RankLimit(test.ranks), test.m.SharedLimit(); b != test.bytes || r != test.rank || s != test.shared {
			t.Errorf("%+v, %d ranks: %d, %d, %d", test.m, test.ranks, b, r, s)
		}
	}
}

func TestDefaultLimitDividesByRanks(t *testing.T) {
	m := ThisMachine()
	if m.Bytes() < 64<<20 {
		t.Errorf("this machine has %+v", m)
	}
	for env, ranks := range map[string]int{"": 1, "8": 8, "0": 1, "-3": 1, "x": 1} {
		t.Setenv("LOCAL_WORLD_SIZE", env)
		if got := DefaultLimit(); got != m.RankLimit(ranks) {
			t.Errorf("LOCAL_WORLD_SIZE=%q: %d, want %d", env, got, m.RankLimit(ranks))
		}
	}
}
