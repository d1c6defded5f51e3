package hdfsmini;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;

/** Blocks lists the replicas of a file's blocks and hurts them behind the back of their datanode. */
final class Blocks {
  private static final long SETTLE_MS = 1_000;

  private final Cluster cluster;

  Blocks(Cluster cluster) {
    this.cluster = cluster;
  }

  /** One word for each block: name:bytes@datanode,datanode. */
  String list(String path) throws IOException {
    List<String> words = new ArrayList<>();
    for (LocatedBlock b : cluster.files().getClient().getLocatedBlocks(path, 0, Long.MAX_VALUE).getLocatedBlocks()) {
      List<String> at = new ArrayList<>();
      for (DatanodeInfo d : b.getLocations()) {
        at.add(String.valueOf(cluster.datanodeAt(d.getXferPort())));
      }
      words.add(b.getBlock().getBlockName() + ":" + b.getBlockSize() + "@" + String.join(",", at));
    }
    return String.join(" ", words);
  }

  /** Waits a moment until the namenode knows every replica of a new file, which is complete with one. With datanodes down some never come. */
  void settle(String path) throws IOException, InterruptedException {
    DFSClient client = cluster.files().getClient();
    int replication = client.getFileInfo(path).getReplication();
    for (long end = System.currentTimeMillis() + SETTLE_MS; System.currentTimeMillis() < end; Thread.sleep(2)) {
      List<LocatedBlock> blocks = client.getLocatedBlocks(path, 0, Long.MAX_VALUE).getLocatedBlocks();
      if (blocks.stream().allMatch(b -> b.getLocations().length >= replication)) {
        return;
      }
    }
  }

  void remove(int datanode, String block) throws IOException {
    Files.delete(find(datanode, block, false));
  }

  /** Removes the file of checksums beside a block. */
  void removeChecksums(int datanode, String block) throws IOException {
    Files.delete(find(datanode, block, true));
  }

  void truncate(int datanode, String block, long size) throws IOException {
    try (RandomAccessFile f = new RandomAccessFile(find(datanode, block, false).toFile(), "rw")) {
      f.setLength(size);
    }
  }

  /** Flips the lowest bit of one byte. */
  void flip(int datanode, String block, long offset) throws IOException {
    try (RandomAccessFile f = new RandomAccessFile(find(datanode, block, false).toFile(), "rw")) {
      f.seek(offset);
      int b = f.read();
      if (b < 0) {
        throw new IOException("the block ends before byte " + offset);
      }
      f.seek(offset);
      f.write(b ^ 1);
    }
  }

  private Path find(int datanode, String block, boolean checksums) throws IOException {
    try (Stream<Path> all = Files.walk(cluster.datanodeDir(datanode))) {
      return all.filter(p -> {
        String name = p.getFileName().toString();
        return checksums ? name.startsWith(block + "_") && name.endsWith(".meta") : name.equals(block);
      }).findFirst().orElseThrow(() -> new NoSuchFileException(block + " on datanode " + datanode));
    }
  }
}
