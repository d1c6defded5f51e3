package hdfsmini;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Real HDFS for tests: the namenode and the datanodes of Hadoop itself, in one JVM, on loopback.
 *
 * <p>Arguments: a directory, the number of datanodes, and key=value pairs of Hadoop's configuration. Keys of our own: mini.host is the name
 * by which clients reach the daemons (127.0.0.1), mini.ha=true makes two namenodes with a shared directory of edits, mini.datanode.bind is
 * the address that datanodes listen on; they are announced under 127.0.0.1 all the same, so that something else can listen there on the same
 * ports and pass on what it likes.
 *
 * <p>Once all is up a line "READY rpc[,rpc] http[,http]" is printed, with host:port of each namenode. Then each line on standard input is a
 * command of words, form-encoded and separated by blanks, and is answered by one line: "OK" and an answer, or "ERR" and a reason. The
 * end of standard input ends the JVM at once.
 */
public final class Main {
  private Main() {}

  public static void main(String[] args) throws Exception {
    BlockingQueue<String> lines = watchInput(); // from the first moment: a parent that dies while we start leaves nothing behind
    Cluster cluster = null;
    try {
      cluster = new Cluster(args[0], Integer.parseInt(args[1]), Arrays.asList(args).subList(2, args.length));
      cluster.start();
    } catch (Throwable t) {
      t.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
    Commands commands = new Commands(cluster);
    say("READY " + cluster.addresses());
    for (String line = lines.take(); ; line = lines.take()) {
      say(answer(commands, line));
    }
  }

  private static String answer(Commands commands, String line) {
    try {
      String[] words = line.trim().split("\\s+");
      for (int i = 0; i < words.length; i++) {
        words[i] = URLDecoder.decode(words[i], StandardCharsets.UTF_8);
      }
      return ("OK " + commands.run(words[0], List.of(words).subList(1, words.length))).trim();
    } catch (Throwable t) {
      return "ERR " + line + ": " + t.toString().lines().findFirst().orElse("");
    }
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private static BlockingQueue<String> watchInput() {
    BlockingQueue<String> lines = new LinkedBlockingQueue<>();
    Thread watcher = new Thread(() -> {
      try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
          lines.add(line);
        }
      } catch (IOException e) {
        // the end as well
      }
      Runtime.getRuntime().halt(0);
    }, "stdin");
    watcher.setDaemon(true);
    watcher.start();
    return lines;
  }
}
