package hdfsmini;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.ha.HAServiceProtocol.RequestSource;
import org.apache.hadoop.ha.HAServiceProtocol.StateChangeRequestInfo;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.client.BlockReportOptions;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeDescriptor;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeStorageInfo;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.EditLogFileOutputStream;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.security.UserGroupInformation;

/** A Cluster is one or two namenodes and some datanodes. A daemon that is stopped and started again keeps its ports and its files. */
final class Cluster {
  private static final long PATIENCE_MS = 45_000; // less than those who sent a command wait for its answer
  private static final long REMIND_MS = 3_000;
  private static final String[] ADDRESSES = {"dfs.datanode.address", "dfs.datanode.http.address", "dfs.datanode.ipc.address"};

  private final String dir;
  private final Configuration conf;
  private final NameNode[] namenodes;
  private final DataNode[] datanodes;
  private final int[][] ports; // of each datanode: transfer, http, ipc

  Cluster(String dir, int count, List<String> given) throws IOException {
    this.dir = new File(dir).getAbsolutePath();
    namenodes = new NameNode[given.contains("mini.ha=true") ? 2 : 1];
    datanodes = new DataNode[count];
    conf = Settings.of(this.dir, namenodes.length, given);
    ports = new int[count][ADDRESSES.length];
    for (int[] of : ports) {
      for (int k = 0; k < of.length; k++) {
        of[k] = Settings.freePort();
      }
    }
    DefaultMetricsSystem.setMiniClusterMode(true); // several daemons of a kind in one JVM
    EditLogFileOutputStream.setShouldSkipFsyncForTesting(true); // no test outlives a loss of power
    UserGroupInformation.setConfiguration(conf);
  }

  void start() throws Exception {
    NameNode.format(namenodeConf(0));
    if (pair()) {
      copyTree(Path.of(dir, "nn0"), Path.of(dir, "nn1"));
    }
    for (int i = 0; i < namenodes.length; i++) {
      startNamenode(i);
    }
    if (pair()) {
      makeActive(0);
    }
    for (int i = 0; i < datanodes.length; i++) {
      startDatanode(i);
    }
    awaitReports();
  }

  private boolean pair() {
    return namenodes.length == 2;
  }

  /** The addresses of the namenodes: of calls, and of the web server. */
  String addresses() {
    List<String> rpc = new ArrayList<>();
    List<String> http = new ArrayList<>();
    for (int i = 0; i < namenodes.length; i++) {
      rpc.add(conf.get(Settings.key("dfs.namenode.rpc-address", pair(), i)));
      http.add(conf.get(Settings.key("dfs.namenode.http-address", pair(), i)));
    }
    return String.join(",", rpc) + " " + String.join(",", http);
  }

  DistributedFileSystem files() throws IOException {
    return (DistributedFileSystem) FileSystem.get(conf);
  }

  Configuration conf() {
    return conf;
  }

  int datanodes() {
    return datanodes.length;
  }

  int[] ports(int datanode) {
    return ports[datanode];
  }

  /** Where a datanode keeps its blocks. */
  Path datanodeDir(int i) {
    return Path.of(dir, "dn" + i);
  }

  private Configuration namenodeConf(int i) {
    Configuration c = new Configuration(conf);
    c.set("dfs.namenode.name.dir", "file://" + dir + "/nn" + i);
    if (pair()) {
      c.set("dfs.ha.namenode.id", "nn" + i);
    }
    return c;
  }

  void startNamenode(int i) throws IOException {
    if (namenodes[i] != null) {
      throw new IllegalStateException("namenode " + i + " runs");
    }
    namenodes[i] = NameNode.createNameNode(new String[0], namenodeConf(i));
  }

  void killNamenode(int i) {
    NameNode n = namenodes[i];
    namenodes[i] = null;
    n.stop();
    n.join();
  }

  void startDatanode(int i) throws IOException {
    if (datanodes[i] != null) {
      throw new IllegalStateException("datanode " + i + " runs");
    }
    Configuration c = new Configuration(conf);
    c.set("dfs.datanode.data.dir", "file://" + datanodeDir(i));
    for (int k = 0; k < ADDRESSES.length; k++) {
      c.set(ADDRESSES[k], conf.get("mini.datanode.bind") + ":" + ports[i][k]);
    }
    datanodes[i] = DataNode.createDataNode(new String[0], c);
  }

  void killDatanode(int i) {
    DataNode d = datanodes[i];
    datanodes[i] = null;
    d.shutdown();
  }

  /** Starts whatever does not run, with a namenode active. */
  void startAll() throws Exception {
    for (int i = 0; i < namenodes.length; i++) {
      if (namenodes[i] == null) {
        startNamenode(i);
      }
    }
    if (pair() && active() < 0) {
      makeActive(0);
    }
    for (int i = 0; i < datanodes.length; i++) {
      if (datanodes[i] == null) {
        startDatanode(i);
      }
    }
    awaitReports();
  }

  /** The active namenode, or -1. */
  int active() {
    for (int i = 0; i < namenodes.length; i++) {
      if (namenodes[i] != null && namenodes[i].isActiveState()) {
        return i;
      }
    }
    return -1;
  }

  /** Makes a namenode of a pair the active one. The other steps back first, if it runs. */
  void makeActive(int i) throws IOException {
    StateChangeRequestInfo byHand = new StateChangeRequestInfo(RequestSource.REQUEST_BY_USER_FORCED);
    NameNode other = namenodes[1 - i];
    if (other != null && other.isActiveState()) {
      other.getRpcServer().transitionToStandby(byHand);
    }
    namenodes[i].getRpcServer().transitionToActive(byHand);
  }

  /** Makes the block tokens that the active namenode gives out from now on end after some time. */
  void limitTokens(long millis) {
    namenodes[active()].getNamesystem().getBlockManager().getBlockTokenSecretManager().setTokenLifetime(millis);
  }

  /** The datanode that listens for transfers on a port, or -1. */
  int datanodeAt(int port) {
    for (int i = 0; i < ports.length; i++) {
      if (ports[i][0] == port) {
        return i;
      }
    }
    return -1;
  }

  /** Waits until every running datanode has told each namenode its capacity and its blocks, and files can be written. */
  void awaitReports() throws Exception {
    long begin = System.currentTimeMillis();
    long reminded = begin;
    for (String missing = missing(); missing != null; missing = missing()) {
      long now = System.currentTimeMillis();
      if (now - begin > PATIENCE_MS) {
        throw new IOException("after " + PATIENCE_MS + " ms " + missing);
      }
      if (now - reminded > REMIND_MS) {
        remindDatanodes();
        reminded = now;
      }
      Thread.sleep(20);
    }
  }

  // A namenode that has just been started sometimes drops a report, under load once in some hundred times, and the next one is due in hours.
  private void remindDatanodes() throws IOException {
    for (DataNode d : datanodes) {
      if (d != null) {
        d.triggerBlockReport(new BlockReportOptions.Factory().setIncremental(false).build());
      }
    }
  }

  /** What is not there yet of a cluster that can be used, or null. */
  private String missing() throws Exception {
    for (int i = 0; i < namenodes.length; i++) {
      for (int k = 0; k < datanodes.length; k++) {
        if (namenodes[i] != null && datanodes[k] != null) {
          String missing = missing(namenodes[i], datanodes[k]);
          if (missing != null) {
            return "datanode " + k + " " + missing + " namenode " + i;
          }
        }
      }
    }
    int active = active();
    if (active < 0) {
      return null;
    }
    return namenodes[active].isInSafeMode() ? "namenode " + active + " is in safe mode" : unanswered();
  }

  // The connection of our own client to a namenode that was stopped fails once.
  private String unanswered() {
    try {
      return files().exists(new org.apache.hadoop.fs.Path("/")) ? null : "there is no root directory";
    } catch (IOException e) {
      return "the client has no answer: " + e;
    }
  }

  // Safe mode can end before the datanodes have reported: then a file has nowhere to go.
  private static String missing(NameNode n, DataNode d) throws Exception {
    if (!d.isDatanodeFullyStarted()) {
      return "does not serve";
    }
    DatanodeDescriptor seen = n.getNamesystem().getBlockManager().getDatanodeManager().getDatanode(d.getDatanodeUuid());
    if (seen == null || seen.getXferPort() != d.getXferPort()) {
      return "is unknown to";
    }
    if (!seen.isAlive() || seen.getCapacity() == 0) {
      return "has not said since it registered how much it holds, to";
    }
    for (DatanodeStorageInfo storage : seen.getStorageInfos()) {
      if (storage.getBlockReportCount() == 0) {
        return "has not told its blocks to";
      }
    }
    return null;
  }

  private static void copyTree(Path from, Path to) throws IOException {
    try (Stream<Path> all = Files.walk(from)) {
      for (Path p : (Iterable<Path>) all::iterator) {
        Files.copy(p, to.resolve(from.relativize(p).toString()));
      }
    }
  }
}
