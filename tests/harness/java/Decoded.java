package sluice.decode;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.StringJoiner;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What a package's Decoder makes of records: reads the package's name, a description and records from
 * standard input, and writes a line for each record: its values, its column `kafka`, its reason; or why
 * it is not sure. Where the description has `notes`, tasks of Spark decode, and the answer is what they
 * have noted. What is raised ends it.
 */
public final class Decoded {
  public static void main(String[] none) throws IOException {
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
    DataOutputStream out = new DataOutputStream(System.out);
    try {
      for (byte[] name = bytes(in); ; name = bytes(in)) {
        Class.forName(new String(name, StandardCharsets.UTF_8) + ".Decoded")
            .getMethod("answer", DataInputStream.class, DataOutputStream.class)
            .invoke(null, in, out);
        out.flush();
      }
    } catch (EOFException ended) {
      System.exit(0);
    } catch (ReflectiveOperationException raised) {
      raised.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
  }

  public static void answer(DataInputStream in, DataOutputStream out)
      throws IOException, ClassNotFoundException {
    String given = new String(bytes(in), StandardCharsets.UTF_8);
    List<GenericInternalRow> records = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) {
      records.add(record(in));
    }
    JsonNode notes = new ObjectMapper().readTree(given).path("notes");
    byte[] text =
        (notes.isMissingNode() ? told(given, records) : noted(given, notes, records))
            .getBytes(StandardCharsets.UTF_8);
    out.writeInt(text.length);
    out.write(text);
  }

  private static GenericInternalRow record(DataInputStream in) throws IOException {
    int partition = in.readInt();
    long offset = in.readLong();
    long sent = in.readLong();
    byte[] key = bytes(in);
    byte[] value = bytes(in);
    int count = in.readInt();
    Object[] headers = new Object[Math.max(count, 0)];
    for (int n = 0; n < count; n++) {
      headers[n] = row(UTF8String.fromBytes(bytes(in)), bytes(in));
    }
    GenericInternalRow raw = row(key, value, count < 0 ? null : new GenericArrayData(headers));
    return row(partition, offset, sent == Long.MIN_VALUE ? null : sent, offset + 1, raw);
  }

  private static String told(String given, List<GenericInternalRow> records)
      throws IOException, ClassNotFoundException {
    Decoder decoder = sent(Decoder.of(given, null));
    StringJoiner told = new StringJoiner("\n");
    records.forEach(each -> told.add(told(decoder, each)));
    return told.toString();
  }

  /** As a task gets it. */
  private static Decoder sent(Decoder decoder) throws IOException, ClassNotFoundException {
    ByteArrayOutputStream to = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(to)) {
      out.writeObject(decoder);
    }
    try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(to.toByteArray()))) {
      return (Decoder) in.readObject();
    }
  }

  private static String told(Decoder decoder, InternalRow kafka) {
    GenericInternalRow found;
    try {
      found = (GenericInternalRow) decoder.decode(kafka);
    } catch (Unsure unsure) {
      return unsure.getMessage();
    }
    StringJoiner told = new StringJoiner(",");
    for (Object value : found.values()) {
      told.add(value instanceof GenericInternalRow of ? told(of) : told(value));
    }
    return told.toString();
  }

  private static String told(GenericInternalRow kafka) {
    StringJoiner told = new StringJoiner(" ", "kept " + !kafka.isNullAt(4) + " ", "");
    for (int n = 0; n < 4; n++) {
      told.add(String.valueOf(kafka.values()[n]));
    }
    return told.toString();
  }

  private static String told(Object value) {
    if (value instanceof UTF8String text) {
      return "UTF8String " + HexFormat.of().formatHex(text.getBytes());
    }
    return value == null ? "null" : value.getClass().getSimpleName() + " " + value;
  }

  /** The slices, an empty line, and the samples. Two tasks have a half of the records each. */
  private static String noted(String given, JsonNode of, List<GenericInternalRow> records)
      throws IOException {
    SparkConf conf =
        new SparkConf()
            .setMaster("local[1]")
            .setAppName("notes")
            .set("spark.ui.enabled", "false")
            .set("spark.log.level", "ERROR")
            .set("spark.driver.host", "localhost")
            .set("spark.driver.bindAddress", "127.0.0.1");
    SparkContext context = SparkContext.getOrCreate(conf);
    Notes notes =
        new Notes(
            context,
            of.path("offsets").asLong(),
            of.path("ahead").asLong(),
            of.path("clock").asLong(),
            of.path("late").asLong(),
            of.path("sampling").asBoolean());
    Decoder decoder = Decoder.of(given, notes);
    new JavaSparkContext(context).parallelize(records, 2).foreach(decoder::decode);
    String found = notes.slices() + "\n" + notes.samples();
    return found + "\n" + notes.slices() + notes.samples();
  }

  private static GenericInternalRow row(Object... values) {
    return new GenericInternalRow(values);
  }

  /** Null of a negative length. */
  private static byte[] bytes(DataInputStream in) throws IOException {
    int length = in.readInt();
    return length < 0 ? null : in.readNBytes(length);
  }
}
