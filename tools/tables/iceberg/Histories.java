import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;

/** Writes tables of random appends, equality deletes, position deletes and changes, with the rows at each snapshot. */
public class Histories extends EqDeletes {
  static final String[] LANGS = {"en", "de", null};
  static Random random;

  /** A random file, its partition (null without one) and its number of rows. */
  static DataFile append(String lang) throws Exception {
    long from = random.nextInt(60);
    return data(lang, from, from + 1 + random.nextInt(40));
  }

  static String lang() {
    return LANGS[random.nextInt(LANGS.length)];
  }

  static Object value(String column) {
    int i = random.nextInt(100);
    switch (column) {
      case "id":
        return (long) i;
      case "text":
        return i % 5 == 0 ? null : "t" + i % 50;
      case "lang":
        return lang();
      default:
        return i / 4.0; // without NaN, which Java overlooks where the other keys of a delete are not in a file's bounds
    }
  }

  static void equalityDelete(RowDelta delta) throws Exception {
    String[][] choices = {{"id"}, {"text"}, {"id", "text"}, {"id", "lang"}, {value()}, {"text", value()}};
    String[] columns = choices[random.nextInt(choices.length)];
    Object[][] rows = new Object[1 + random.nextInt(8)][];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = Arrays.stream(columns).map(Histories::value).toArray();
    }
    delta.addDeletes(eq(t.spec().isUnpartitioned() ? null : lang(), columns, rows));
  }

  /** The name of the column v, which is renamed now and then. */
  static String value() {
    return t.schema().findField(4).name();
  }

  static void positionDelete(RowDelta delta) throws Exception {
    List<FileScanTask> tasks = new ArrayList<>();
    try (CloseableIterable<FileScanTask> all = t.newScan().planFiles()) {
      all.forEach(tasks::add);
    }
    if (tasks.isEmpty()) {
      return;
    }
    FileScanTask task = tasks.get(random.nextInt(tasks.size()));
    GenericFileWriterFactory f = new GenericFileWriterFactory.Builder(t).deleteFileFormat(FileFormat.PARQUET).dataFileFormat(FileFormat.PARQUET).build();
    PositionDeleteWriter<Record> w = f.newPositionDeleteWriter(out(), task.spec(), task.file().partition());
    PositionDelete<Record> at = PositionDelete.create();
    for (long p = random.nextInt(5); p < task.file().recordCount(); p += 1 + random.nextInt(9)) {
      w.write(at.set(task.file().location(), p));
    }
    w.close();
    if (w.toDeleteFile().recordCount() > 0) {
      delta.addDeletes(w.toDeleteFile());
    }
  }

  static void step() throws Exception {
    t.refresh();
    switch (random.nextInt(8)) {
      case 0:
        t.newAppend().appendFile(append(lang())).appendFile(append(lang())).commit();
        break;
      case 1:
        t.updateSchema().renameColumn(value(), value().equals("v") ? "value" : "v").commit();
        break;
      case 2:
        if (t.spec().isUnpartitioned()) {
          t.updateSpec().addField("lang").commit();
        } else {
          t.updateSpec().removeField("lang").commit();
        }
        break;
      case 3:
        RowDelta upsert = t.newRowDelta();
        equalityDelete(upsert);
        upsert.addRows(append(lang())).commit();
        break;
      case 4:
        RowDelta both = t.newRowDelta();
        equalityDelete(both);
        positionDelete(both);
        both.commit();
        break;
      case 5:
        RowDelta positions = t.newRowDelta();
        positionDelete(positions);
        positions.commit();
        break;
      default:
        RowDelta keys = t.newRowDelta();
        equalityDelete(keys);
        keys.commit();
    }
  }

  static String json(Object v) {
    if (v instanceof String || v instanceof Double && ((Double) v).isNaN()) {
      return "\"" + v + "\"";
    }
    return String.valueOf(v);
  }

  static void dump(PrintWriter w, String name, IcebergGenerics.ScanBuilder rows, Schema schema) throws Exception {
    w.print("\"" + name + "\": {\"columns\": [");
    for (int i = 0; i < schema.columns().size(); i++) {
      w.print((i > 0 ? ", " : "") + json(schema.columns().get(i).name()));
    }
    w.print("], \"rows\": [");
    boolean first = true;
    try (CloseableIterable<Record> all = rows.build()) {
      for (Record r : all) {
        w.print(first ? "[" : ", [");
        first = false;
        for (int i = 0; i < r.size(); i++) {
          w.print((i > 0 ? ", " : "") + json(r.get(i)));
        }
        w.print("]");
      }
    }
    w.println("]}");
  }

  public static void main(String[] args) throws Exception {
    HadoopCatalog c = new HadoopCatalog(new Configuration(), args[0]);
    for (int seed = Integer.parseInt(args[1]); seed < Integer.parseInt(args[2]); seed++) {
      random = new Random(seed);
      Schema schema = new Schema(Types.NestedField.required(1, "id", Types.LongType.get()), Types.NestedField.optional(2, "lang", Types.StringType.get()),
          Types.NestedField.optional(3, "text", Types.StringType.get()), Types.NestedField.optional(4, "v", Types.DoubleType.get()));
      PartitionSpec spec = random.nextBoolean() ? PartitionSpec.unpartitioned() : PartitionSpec.builderFor(schema).identity("lang").build();
      String name = "java" + seed;
      t = c.createTable(TableIdentifier.of(name), schema, spec, Map.of("format-version", "2"));
      t.newAppend().appendFile(append("en")).appendFile(append("de")).commit();
      for (int i = 3 + random.nextInt(10); i > 0; i--) {
        step();
      }
      t.refresh();
      try (PrintWriter w = new PrintWriter(args[0] + "/" + name + "/rows.json")) {
        w.println("{");
        for (Snapshot s : t.snapshots()) {
          dump(w, Long.toString(s.snapshotId()), IcebergGenerics.read(t).useSnapshot(s.snapshotId()), t.schemas().get(s.schemaId()));
          w.println(",");
        }
        dump(w, "", IcebergGenerics.read(t), t.schema());
        w.println("}");
      }
    }
  }
}
