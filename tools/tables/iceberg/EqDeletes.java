import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionData;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.encryption.EncryptedFiles;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.types.Types;

/** Writes tables that Spark does not write, by Iceberg's own library: equality deletes, and default values. */
public class EqDeletes {
  static int files;
  static Table t;

  static StructLike part(PartitionSpec spec, String lang) {
    if (spec.isUnpartitioned()) {
      return null;
    }
    PartitionData p = new PartitionData(spec.partitionType());
    p.set(0, lang);
    return p;
  }

  static EncryptedOutputFile out() {
    return EncryptedFiles.plainAsEncryptedOutput(t.io().newOutputFile(t.location() + "/data/f" + (files++) + ".parquet"));
  }

  static DataFile data(String lang, long from, long to) throws Exception {
    GenericFileWriterFactory f = new GenericFileWriterFactory.Builder(t).dataFileFormat(FileFormat.PARQUET).dataSchema(t.schema()).build();
    DataWriter<Record> w = f.newDataWriter(out(), t.spec(), part(t.spec(), lang));
    for (long i = from; i < to; i++) {
      GenericRecord r = GenericRecord.create(t.schema());
      r.setField("id", i);
      r.setField("lang", lang);
      r.setField("text", i % 5 == 0 ? null : "t" + i % 50);
      r.setField(t.schema().findField(4).name(), i % 11 == 0 ? Double.NaN : i / 4.0);
      w.write(r);
    }
    w.close();
    return w.toDataFile();
  }

  static DeleteFile eq(String lang, String[] cols, Object[]... rows) throws Exception {
    Schema s = t.schema().select(cols);
    int[] ids = s.columns().stream().mapToInt(Types.NestedField::fieldId).toArray();
    GenericFileWriterFactory f = new GenericFileWriterFactory.Builder(t).dataFileFormat(FileFormat.PARQUET)
        .deleteFileFormat(FileFormat.PARQUET).equalityFieldIds(ids).equalityDeleteRowSchema(s).build();
    EqualityDeleteWriter<Record> w = f.newEqualityDeleteWriter(out(), t.spec(), part(t.spec(), lang));
    for (Object[] row : rows) {
      GenericRecord r = GenericRecord.create(s);
      for (int i = 0; i < cols.length; i++) {
        r.setField(cols[i], row[i]);
      }
      w.write(r);
    }
    w.close();
    return w.toDeleteFile();
  }

  static void equality(HadoopCatalog c) throws Exception {
    Schema schema = new Schema(required(1, "id", Types.LongType.get()), optional(2, "lang", Types.StringType.get()),
        optional(3, "text", Types.StringType.get()), optional(4, "v", Types.DoubleType.get()));
    t = c.createTable(TableIdentifier.of("eq"), schema, PartitionSpec.builderFor(schema).identity("lang").build(), Map.of("format-version", "2"));
    DataFile en = data("en", 0, 120);
    t.newAppend().appendFile(en).appendFile(data("de", 0, 80)).commit();
    // By id in the partition en: the same ids of de stay. Ids 10 to 19 come again in the same commit, and stay too.
    List<Object[]> rows = new ArrayList<>();
    for (long i = 0; i < 30; i++) {
      rows.add(new Object[] {i});
    }
    DeleteFile ids = eq("en", new String[] {"id"}, rows.toArray(new Object[0][]));
    t.newRowDelta().addRows(data("en", 10, 20)).addDeletes(ids).commit();
    // By two columns, one of them null; and a key that no row has.
    t.newRowDelta().addDeletes(eq("de", new String[] {"id", "text"}, new Object[] {50L, null}, new Object[] {51L, "t1"}, new Object[] {52L, "none"})).commit();
    t.newRowDelta().addDeletes(eq("de", new String[] {"text"}, new Object[] {"t7"})).commit();
    // NaN equals NaN.
    t.newRowDelta().addDeletes(eq("de", new String[] {"v"}, new Object[] {Double.NaN}, new Object[] {10.5})).commit();
    PositionDelete<Record> at = PositionDelete.create();
    PositionDeleteWriter<Record> w = new GenericFileWriterFactory.Builder(t).deleteFileFormat(FileFormat.PARQUET).dataFileFormat(FileFormat.PARQUET).build()
        .newPositionDeleteWriter(out(), t.spec(), part(t.spec(), "en"));
    for (long p : new long[] {100, 101, 119}) {
      w.write(at.set(en.location(), p));
    }
    w.close();
    t.newRowDelta().addDeletes(w.toDeleteFile()).commit();
    // A key that is deleted, comes again, and is deleted again.
    t.newAppend().appendFile(data("en", 12, 14)).commit();
    t.newRowDelta().addDeletes(eq("en", new String[] {"id"}, new Object[] {12L})).commit();
    // Deletes of a table without partitions apply to all files.
    t.updateSpec().removeField("lang").commit();
    t.refresh();
    t.newAppend().appendFile(data("un", 200, 220)).commit();
    t.newRowDelta().addDeletes(eq(null, new String[] {"id"}, new Object[] {60L}, new Object[] {61L}, new Object[] {205L})).commit();
    // By the column of the partition, which older files may have as a constant.
    t.newRowDelta().addDeletes(eq(null, new String[] {"id", "lang"}, new Object[] {70L, "de"}, new Object[] {71L, "un"})).commit();
    t.updateSchema().renameColumn("v", "value").commit();
    t.updateSchema().addColumn("later", Types.LongType.get()).commit();
    t.refresh();
    // By a column that the files lack: null equals null.
    t.newRowDelta().addDeletes(eq(null, new String[] {"id", "later"}, new Object[] {72L, null}, new Object[] {73L, 1L})).commit();
  }

  static void defaults(HadoopCatalog c) throws Exception {
    Schema schema = new Schema(required(1, "id", Types.LongType.get()), optional(2, "lang", Types.StringType.get()),
        optional(3, "text", Types.StringType.get()), optional(4, "v", Types.DoubleType.get()));
    t = c.createTable(TableIdentifier.of("defaults"), schema, PartitionSpec.unpartitioned(), Map.of("format-version", "3"));
    t.newAppend().appendFile(data("en", 0, 5)).commit();
    t.updateSchema().addColumn("tag", Types.StringType.get(), "a tag", Literal.of("none"))
        .addRequiredColumn("n", Types.IntegerType.get(), "required", Literal.of(7))
        .addColumn("day", Types.DateType.get(), null, Literal.of("2026-03-01").to(Types.DateType.get()))
        .addColumn("price", Types.DecimalType.of(9, 2), null, Literal.of("-14.20").to(Types.DecimalType.of(9, 2)))
        .addColumn("at", Types.TimestampType.withZone(), null, Literal.of("2026-03-01T01:02:03.5+00:00").to(Types.TimestampType.withZone()))
        .commit();
    t.refresh();
    // A key with a default value deletes rows of files that lack the column.
    t.newRowDelta().addDeletes(eq(null, new String[] {"id", "tag"}, new Object[] {1L, "none"}, new Object[] {2L, "other"})).commit();
  }

  public static void main(String[] args) throws Exception {
    HadoopCatalog c = new HadoopCatalog(new Configuration(), args[0]);
    equality(c);
    defaults(c);
  }
}
