package sluice.decode;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.StringJoiner;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What sluice.decode.Decoder makes of records: reads descriptions and records from standard input, and
 * writes a line for each record: its values, whether its bytes are kept, its reason; or "unsure".
 */
final class Decoded {
  public static void main(String[] none) throws IOException {
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
    DataOutputStream out = new DataOutputStream(System.out);
    for (byte[] described = bytes(in); described != null; described = bytes(in)) {
      Decoder decoder = Decoder.of(new String(described, StandardCharsets.UTF_8), null);
      int records = in.readInt();
      StringJoiner told = new StringJoiner("\n");
      for (int n = 0; n < records; n++) {
        GenericInternalRow raw = row(bytes(in), bytes(in), null);
        long sent = in.readLong();
        told.add(told(decoder, row(0, (long) n, sent == Long.MIN_VALUE ? null : sent, null, raw)));
      }
      byte[] text = told.toString().getBytes(StandardCharsets.UTF_8);
      out.writeInt(text.length);
      out.write(text);
      out.flush();
    }
  }

  private static String told(Decoder decoder, InternalRow kafka) {
    GenericInternalRow found;
    try {
      found = (GenericInternalRow) decoder.decode(kafka);
    } catch (Unsure unsure) {
      return "unsure";
    }
    StringJoiner told = new StringJoiner(",");
    for (Object value : found.values()) {
      told.add(value instanceof InternalRow of ? "kept " + !of.isNullAt(4) : told(value));
    }
    return told.toString();
  }

  private static String told(Object value) {
    if (value instanceof UTF8String text) {
      return "UTF8String " + HexFormat.of().formatHex(text.getBytes());
    }
    return value == null ? "null" : value.getClass().getSimpleName() + " " + value;
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
