package hdfsmini;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Options.ChecksumOpt;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction;
import org.apache.hadoop.util.DataChecksum;

/**
 * Commands are what a test may ask for. N is a datanode or namenode, counted from 0; a namenode is 0 where it is not named.
 *
 * <pre>
 * killdn N | startdn N           stop and start a datanode
 * killnn [N] | startnn [N]       stop and start a namenode; a single one answers again when startnn returns
 * startall                       start whatever does not run
 * active                         the number of the active namenode, or -1
 * failover [N]                   make namenode N, or the other one, the active one
 * safemode enter|leave
 * tokenlife MILLIS               how long new block tokens hold, where dfs.block.access.token.enable asks for them
 * dns                            one word for each datanode: transfer/http port
 * put LOCAL PATH [KEY=VALUE...]  copy a file; blocksize, replication, checksum (NULL, CRC32, CRC32C), bytes-per-checksum
 * open LOCAL PATH | close PATH   copy a file, its bytes visible, and leave it open for writing; finish it
 * mkdir PATH | rm PATH           with all above, with all below
 * chmod PATH OCTAL | chown PATH USER
 * ec PATH POLICY                 make a directory whose files are erasure-coded
 * blocks PATH                    one word for each block: name:bytes@datanode,datanode
 * rmblock N BLOCK | rmsums N BLOCK | truncblock N BLOCK BYTES | flipblock N BLOCK OFFSET
 * quit
 * </pre>
 */
final class Commands {
  private final Cluster cluster;
  private final Blocks blocks;
  private final Map<String, FSDataOutputStream> open = new HashMap<>();

  Commands(Cluster cluster) {
    this.cluster = cluster;
    this.blocks = new Blocks(cluster);
  }

  String run(String command, List<String> words) throws Exception {
    switch (command) {
      case "killdn", "startdn", "killnn", "startnn", "startall", "active", "failover", "safemode", "tokenlife", "dns":
        return daemons(command, words);
      case "put", "open", "close", "mkdir", "rm", "chmod", "chown", "ec":
        return files(command, words);
      case "blocks", "rmblock", "rmsums", "truncblock", "flipblock":
        return hurt(command, words);
      case "quit":
        Runtime.getRuntime().halt(0);
        return "";
      default:
        throw new IllegalArgumentException("no such command");
    }
  }

  private String daemons(String command, List<String> words) throws Exception {
    int n = words.isEmpty() || command.equals("safemode") ? 0 : Integer.parseInt(words.get(0));
    switch (command) {
      case "killdn" -> cluster.killDatanode(n);
      case "startdn" -> {
        cluster.startDatanode(n);
        cluster.awaitReports();
      }
      case "killnn" -> cluster.killNamenode(n);
      case "startnn" -> {
        cluster.startNamenode(n);
        cluster.awaitReports();
      }
      case "startall" -> cluster.startAll();
      case "active" -> {
        return String.valueOf(cluster.active());
      }
      case "failover" -> cluster.makeActive(words.isEmpty() ? 1 - Math.max(0, cluster.active()) : n);
      case "tokenlife" -> cluster.limitTokens(n);
      case "safemode" -> cluster.files().setSafeMode(
          words.get(0).equals("enter") ? SafeModeAction.SAFEMODE_ENTER : SafeModeAction.SAFEMODE_LEAVE);
      default -> {
        List<String> all = new ArrayList<>();
        for (int i = 0; i < cluster.datanodes(); i++) {
          all.add(cluster.ports(i)[0] + "/" + cluster.ports(i)[1]);
        }
        return String.join(" ", all);
      }
    }
    return "";
  }

  private String files(String command, List<String> words) throws Exception {
    DistributedFileSystem files = cluster.files();
    Path path = new Path(words.get(command.equals("put") || command.equals("open") ? 1 : 0));
    switch (command) {
      case "put" -> {
        write(words.get(0), path, options(words.subList(2, words.size()))).close();
        blocks.settle(words.get(1));
      }
      case "open" -> {
        FSDataOutputStream out = write(words.get(0), path, Map.of());
        out.hflush();
        open.put(path.toString(), out);
      }
      case "close" -> open.remove(path.toString()).close();
      case "mkdir" -> files.mkdirs(path);
      case "rm" -> files.delete(path, true);
      case "chmod" -> files.setPermission(path, new FsPermission(words.get(1)));
      case "chown" -> files.setOwner(path, words.get(1), null);
      default -> { // ec
        files.mkdirs(path);
        files.enableErasureCodingPolicy(words.get(1));
        files.setErasureCodingPolicy(path, words.get(1));
      }
    }
    return "";
  }

  private static Map<String, String> options(List<String> words) {
    Map<String, String> options = new HashMap<>();
    for (String word : words) {
      String[] half = word.split("=", 2);
      options.put(half[0], half[1]);
    }
    return options;
  }

  private FSDataOutputStream write(String local, Path path, Map<String, String> options) throws IOException {
    DistributedFileSystem files = cluster.files();
    long blockSize = options.containsKey("blocksize") ? Long.parseLong(options.get("blocksize")) : files.getDefaultBlockSize(path);
    short replication = options.containsKey("replication") ? Short.parseShort(options.get("replication")) : files.getDefaultReplication(path);
    ChecksumOpt checksum = new ChecksumOpt(
        DataChecksum.Type.valueOf(options.getOrDefault("checksum", "CRC32C")), Integer.parseInt(options.getOrDefault("bytes-per-checksum", "512")));
    FSDataOutputStream out = files.create(
        path, FsPermission.getFileDefault(), EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE), 1 << 16, replication, blockSize, null, checksum);
    try (InputStream in = java.nio.file.Files.newInputStream(java.nio.file.Path.of(local))) {
      in.transferTo(out);
    }
    return out;
  }

  private String hurt(String command, List<String> words) throws IOException {
    if (command.equals("blocks")) {
      return blocks.list(words.get(0));
    }
    int datanode = Integer.parseInt(words.get(0));
    String block = words.get(1);
    switch (command) {
      case "rmblock" -> blocks.remove(datanode, block);
      case "rmsums" -> blocks.removeChecksums(datanode, block);
      case "truncblock" -> blocks.truncate(datanode, block, Long.parseLong(words.get(2)));
      default -> blocks.flip(datanode, block, Long.parseLong(words.get(2)));
    }
    return "";
  }
}
