package hdfs

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/colinmarc/hdfs/v2"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/hdfs/wire"
)

const (
	// maxTries is how often a part is asked for again without any progress when what datanodes hold
	// is damaged.
	maxTries = 3
	// maxPiece is how much is asked of the library at once.
	maxPiece = 1 << 20
)

// readPart reads a part. Damaged replicas are tried again a few times, with a fresh list of them;
// servers that cannot be reached for as long as Options.RetryFor says. A success of any size starts
// the count again.
func (o *object) readPart(ctx context.Context, p driver.Part) error {
	to := driver.NewFill(p)
	defer to.Close()
	wait := newBackoff()
	tries := 0
	for {
		before := to.Off()
		err := o.at.cluster.use(ctx, func(ctx context.Context, c *client) error { return o.fill(ctx, c, to) })
		if err == nil {
			return nil
		}
		if to.Off()-before >= maxPiece {
			wait.Progress()
			tries = 0
		}
		if tries++; !retryable(err) || errors.Is(err, wire.ErrOpaque) || damaged(err) && tries >= maxTries || !o.at.cluster.pause(ctx, &wait, err) {
			return err
		}
		o.at.cluster.meter.Retries.Add(1)
	}
}

// damaged reports whether an error is about what a datanode holds, which waiting seldom cures.
func damaged(err error) bool {
	return isAny(err, wire.ErrChecksum, wire.ErrProtocol, wire.ErrShort, wire.ErrNull, wire.ErrRefused)
}

// fill reads the rest of a part with a file reader of its own. One that is not fresh must not be
// moved forward: the library would forget the step when it changes to another datanode, and shift
// the data.
func (o *object) fill(ctx context.Context, c *client, to *driver.Fill) error {
	defer c.dialer.Use(ctx, to.Left)() // no datanode is asked for more
	f, err := c.look(ctx, o.at.path)
	if err != nil {
		return o.gone(err)
	}
	defer f.Close()
	if err := o.verify(f.Stat()); err != nil {
		return err
	}
	if _, err := f.Seek(to.Off(), io.SeekStart); err != nil {
		return err
	}
	for p := to.Next(); p != nil; p = to.Next() {
		n, err := f.Read(p[:min(len(p), maxPiece)])
		to.Took(n)
		if err != nil {
			return readError(err, to.Off())
		}
	}
	return o.verifyBlocks(ctx, c)
}

// changed compares a file with the shard.
func (o *object) changed(info fs.FileInfo) error {
	if err := changed(o.shard, info); err != nil {
		return err
	}
	return o.store.seen.Hold(o.shard, version(info))
}

func (o *object) gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return shard.ErrNotExist
	}
	return err
}

// verify compares the file with the shard, and refuses what the native way cannot read.
func (o *object) verify(info fs.FileInfo) error {
	if err := o.changed(info); err != nil {
		return err
	}
	st := status(info)
	o.blockSize.Store(int64(st.GetBlocksize()))
	return nativeFile(st)
}

// nativeFile refuses files that the library would read wrongly: it takes a group of erasure-coded
// blocks for one block, and returns the encrypted bytes of encrypted files. The name of a policy is
// often not sent, so any policy counts.
func nativeFile(st *hdfs.FileStatus) error {
	if st.GetEcPolicy() != nil {
		return &errNative{how: "an erasure-coded file cannot be read natively"}
	}
	if st.GetFileEncryptionInfo() != nil {
		return &errNative{how: "a file in an encryption zone cannot be read natively"}
	}
	return nil
}

// verifyBlocks is asked after the bytes arrived. The file was looked at by its name, and then its
// blocks were: another file can have taken the name in between. So the name is looked at again,
// unless the blocks are known as the shard's.
func (o *object) verifyBlocks(ctx context.Context, c *client) error {
	now, _ := c.namenodes.learned()
	if known := o.blocks.Load(); now.same(known) && now.unfinished == known.unfinished {
		return nil
	}
	info, err := c.stat(ctx, o.at.path)
	if err != nil {
		return o.gone(err)
	}
	if err := o.changed(info); err != nil {
		return err
	}
	if now != nil && now.unfinished {
		return ErrUnfinished
	}
	if now != nil {
		o.blocks.CompareAndSwap(nil, now)
	}
	return nil
}

func (o *object) look(ctx context.Context) error {
	l, info, err := o.at.blocks(ctx)
	if err != nil {
		return o.gone(err)
	}
	if err := o.changed(info); err != nil {
		return err
	}
	if l != nil && l.unfinished {
		return ErrUnfinished
	}
	return nil
}

// blocks asks a namenode for a file and its blocks, and no datanode for anything: the library asks
// for blocks only to read them, but its dialer opens no connection without a reader. Nil blocks are
// not known: the namenode encrypts its answers.
func (p location) blocks(ctx context.Context) (l *located, info fs.FileInfo, err error) {
	err = p.cluster.retry(ctx, func(ctx context.Context, c *client) error {
		f, err := c.look(ctx, p.path)
		if err != nil {
			return err
		}
		defer f.Close()
		if info = f.Stat(); info.IsDir() {
			return nil
		}
		_, err = f.Checksum()
		if l, _ = c.namenodes.learned(); l == nil && !errors.Is(err, wire.ErrNoReader) {
			return err
		}
		return nil
	})
	return l, info, err
}
