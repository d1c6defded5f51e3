package hdfsmini;

import java.io.IOException;
import java.net.BindException;
import java.net.ServerSocket;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.HdfsConfiguration;

/** Settings make Hadoop's configuration for small, quick daemons, and the names of a pair of namenodes. */
final class Settings {
  static final String NAMESERVICE = "mini";

  private static final int FIRST_PORT = 16384;
  private static final int END_OF_PORTS = 32768;

  private static final String[] SMALL = {
    "dfs.replication=2",
    "dfs.blocksize=1048576",
    "dfs.namenode.fs-limits.min-block-size=1024",
    "dfs.permissions.enabled=false",
    "dfs.datanode.hostname=localhost", // the host of WebHDFS redirects
    "dfs.namenode.datanode.registration.ip-hostname-check=false",
    "dfs.datanode.du.reserved=0",
    // A datanode that fell silent is dead after 12 s.
    "dfs.heartbeat.interval=1",
    "dfs.namenode.heartbeat.recheck-interval=1000",
    "dfs.namenode.safemode.extension=0",
    // Nothing runs in the background that no test asks for.
    "dfs.block.scanner.volume.bytes.per.second=0",
    "dfs.datanode.directoryscan.interval=-1",
    "dfs.namenode.path.based.cache.refresh.interval.ms=3600000",
    "dfs.namenode.edits.noeditlogchannelflush=true",
    "fs.getspaceused.classname=org.apache.hadoop.fs.DFCachingGetSpaceUsed",
    // Files can be written with datanodes down, and our own client gives up early.
    "dfs.client.block.write.replace-datanode-on-failure.policy=NEVER",
    "dfs.namenode.redundancy.considerLoad=false",
    "ipc.client.connect.max.retries=3",
    "dfs.client.retry.window.base=50",
    "dfs.client.block.write.locateFollowingBlock.initial.delay.ms=2", // doubled at each try
    "dfs.client.block.write.locateFollowingBlock.retries=14",
    // Few threads.
    "dfs.namenode.handler.count=8",
    "dfs.namenode.service.handler.count=2",
    "dfs.datanode.handler.count=2",
    "hadoop.http.max.threads=16",
    "ipc.server.read.threadpool.size=1",
    // Two namenodes take turns by hand.
    "dfs.ha.automatic-failover.enabled=false",
    "dfs.ha.standby.checkpoints=false",
    "dfs.ha.tail-edits.period=1",
    "dfs.client.failover.sleep.base.millis=50",
    "dfs.client.failover.sleep.max.millis=500",
  };

  private Settings() {}

  /** The configuration of a cluster in a directory: of its clients, and of what all daemons share. */
  static Configuration of(String dir, int namenodes, List<String> given) throws IOException {
    Configuration conf = new HdfsConfiguration();
    conf.set("hadoop.tmp.dir", dir + "/tmp");
    conf.set("mini.host", "127.0.0.1");
    conf.set("mini.datanode.bind", "127.0.0.1");
    put(conf, List.of(SMALL));
    put(conf, given);
    String host = conf.get("mini.host");
    if (namenodes == 1) {
      conf.set("dfs.namenode.rpc-address", host + ":" + freePort());
      conf.set("dfs.namenode.http-address", host + ":" + freePort());
      conf.set("fs.defaultFS", "hdfs://" + conf.get("dfs.namenode.rpc-address"));
      return conf;
    }
    conf.set("dfs.nameservices", NAMESERVICE);
    conf.set("dfs.ha.namenodes." + NAMESERVICE, "nn0,nn1");
    conf.set("dfs.client.failover.proxy.provider." + NAMESERVICE,
        "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider");
    conf.set("dfs.namenode.shared.edits.dir", "file://" + dir + "/shared");
    conf.set("fs.defaultFS", "hdfs://" + NAMESERVICE);
    for (int i = 0; i < namenodes; i++) {
      conf.set(key("dfs.namenode.rpc-address", true, i), host + ":" + freePort());
      conf.set(key("dfs.namenode.http-address", true, i), host + ":" + freePort());
    }
    return conf;
  }

  /** A key of namenode i, which carries its name where there are two. */
  static String key(String name, boolean pair, int i) {
    return pair ? name + "." + NAMESERVICE + ".nn" + i : name;
  }

  /**
   * A port that is free on every address. The kernel gives higher ports to outgoing connections, which could take one of these
   * before its daemon listens, or while that is stopped.
   */
  static int freePort() throws IOException {
    for (int tries = 1; ; tries++) {
      try (ServerSocket s = new ServerSocket(ThreadLocalRandom.current().nextInt(FIRST_PORT, END_OF_PORTS))) {
        return s.getLocalPort();
      } catch (BindException taken) {
        if (tries == 100) {
          throw taken;
        }
      }
    }
  }

  private static void put(Configuration conf, List<String> pairs) {
    for (String pair : pairs) {
      String[] half = pair.split("=", 2);
      conf.set(half[0], half[1]);
    }
  }
}
