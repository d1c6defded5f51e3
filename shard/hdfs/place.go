package hdfs

import (
	"context"
	"fmt"

	"github.com/shardfeed/shardfeed/shard"
)

// Place returns the placement of a shard on its datanodes. It opens no connection to them.
func (s *Store) Place(ctx context.Context, sh shard.Shard) (shard.Placement, error) {
	p, err := s.placement(ctx, sh)
	if err != nil {
		return shard.Placement{}, wrap("place", sh.URI, err)
	}
	return p, nil
}

func (s *Store) placement(ctx context.Context, sh shard.Shard) (shard.Placement, error) {
	at, err := s.locate(sh.URI)
	if err != nil {
		return shard.Placement{}, err
	}
	l, info, err := at.blocks(ctx)
	if err != nil {
		return shard.Placement{}, err
	}
	if err := changed(sh, info); err != nil {
		return shard.Placement{}, err
	}
	st := status(info)
	p := shard.Placement{
		BlockSize:   int64(st.GetBlocksize()),
		Replication: int(st.GetBlockReplication()),
		Encrypted:   st.GetFileEncryptionInfo() != nil,
	}
	if ec := st.GetEcPolicy(); ec != nil {
		p.Replication, p.Policy = 0, policyName(ec.GetName(), ec.GetId())
	}
	if l != nil {
		for _, b := range l.blocks {
			p.Blocks = append(p.Blocks, shard.Block{Span: shard.Span{Off: b.off, N: b.size}, Hosts: b.hosts})
		}
	}
	return p, nil
}

// policyName returns the name of an erasure coding policy. For built-in policies a namenode sends
// only the number.
func policyName(name string, id uint32) string {
	if name != "" {
		return name
	}
	if builtIn := []string{1: "RS-6-3-1024k", "RS-3-2-1024k", "RS-LEGACY-6-3-1024k", "XOR-2-1-1024k", "RS-10-4-1024k"}; id > 0 && int(id) < len(builtIn) {
		return builtIn[id]
	}
	return fmt.Sprintf("policy %d", id)
}
