import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;

/**
 * HdfsRead RANGES IN_FLIGHT: ranges of HDFS files by Hadoop's own client, which verifies checksums. IN_FLIGHT threads take the next range
 * each and read it, by position, into memory that they keep. A first pass over a quarter of the ranges lets the JVM compile what it runs;
 * the second, over all of them, is what it prints: neither the JVM's start nor its warming up counts.
 */
public class HdfsRead {
  record Range(String address, long first, int count) {}

  record Usage(double wall, double user, double system) {
    static Usage now() throws Exception {
      String stat = Files.readString(Path.of("/proc/self/stat"));
      String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" "); // from the third field on
      return new Usage(System.nanoTime() / 1e9, Long.parseLong(fields[11]) / 100.0, Long.parseLong(fields[12]) / 100.0);
    }
  }

  public static void main(String[] args) throws Exception {
    List<Range> ranges = Files.readAllLines(Path.of(args[0])).stream().map(line -> line.split("\t"))
        .map(f -> new Range(f[0], Long.parseLong(f[1]), Integer.parseInt(f[2]))).toList();
    int threads = Integer.parseInt(args[1]);
    FileSystem fs = FileSystem.newInstance(URI.create(ranges.get(0).address()), new Configuration());
    read(fs, ranges.subList(0, Math.max(1, ranges.size() / 4)), threads);
    Usage before = Usage.now();
    long bytes = read(fs, ranges, threads);
    Usage after = Usage.now();
    System.out.printf("{\"rival\": \"java\", \"bytes\": %d, \"seconds\": %.6f, \"user_seconds\": %.2f, \"system_seconds\": %.2f}%n", bytes,
        after.wall() - before.wall(), after.user() - before.user(), after.system() - before.system());
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static long read(FileSystem fs, List<Range> ranges, int threads) throws Exception {
    int largest = ranges.stream().mapToInt(Range::count).max().getAsInt();
    AtomicInteger next = new AtomicInteger();
    Callable<Long> worker = () -> {
      byte[] buffer = new byte[largest];
      long bytes = 0;
      String open = null;
      FSDataInputStream in = null;
      for (int i; (i = next.getAndIncrement()) < ranges.size(); ) {
        Range r = ranges.get(i);
        if (!r.address().equals(open)) {
          if (in != null) in.close();
          in = fs.open(new org.apache.hadoop.fs.Path(r.address()));
          open = r.address();
        }
        in.readFully(r.first(), buffer, 0, r.count());
        bytes += r.count();
      }
      if (in != null) in.close();
      return bytes;
    };
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    List<Future<Long>> all = IntStream.range(0, threads).mapToObj(i -> pool.submit(worker)).toList();
    long sum = 0;
    for (Future<Long> f : all) sum += f.get();
    pool.shutdown();
    return sum;
  }
}
