package sluice.decode;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.$colon$colon;
import scala.collection.immutable.List;
import scala.collection.immutable.Nil$;

/**
 * Decodes JSON as spark_jobs/decode/ does, record by record, for the topics that
 * spark_jobs/decode/jvm_choice.py names. A task has one of its own.
 */
public final class Decoder implements Serializable {
  /** What spark_jobs/decode/jvm.py must know. */
  public static final int FORM = 2;

  /** An executor with the jar of another Sluice refuses it. */
  private static final long serialVersionUID = FORM;

  private static final UTF8String PENDING = UTF8String.fromString("?");
  private static final int PARTITION = 0;
  private static final int OFFSET = 1;
  private static final int TIMESTAMP = 2;
  private static final int MILLIS = 3;
  private static final int RAW = 4;
  private static final int VALUE = 1;
  private static final int PARTS_OF_RAW = 3;

  private final Node root;
  private final int[] columns;
  private final boolean[] required;
  private final boolean drops;
  private final int eventTime;
  private final Captured captured;
  private final Notes notes;
  private transient JsonReader reader;

  private Decoder(JsonNode given, Notes notes) {
    this.root = new Node(given.path("root"));
    this.columns = new int[given.path("columns").size()];
    for (int n = 0; n < columns.length; n++) {
      columns[n] = given.path("columns").get(n).asInt();
    }
    this.required = new boolean[given.path("required").size()];
    for (int n = 0; n < required.length; n++) {
      required[n] = given.path("required").get(n).asBoolean();
    }
    this.drops = given.path("drops").asBoolean();
    this.eventTime = given.path("event_time").asInt();
    this.captured = given.has("capture") ? new Captured(given.path("capture")) : null;
    this.notes = notes;
    this.reader = new JsonReader(root);
  }

  static Decoder of(String given, Notes notes) throws IOException {
    return new Decoder(new ObjectMapper().readTree(given), notes);
  }

  /**
   * What becomes of the column `kafka`: a struct of this type, given as JSON. It is computed once a
   * record and where it stands: a task counts bytes and records.
   */
  public static Column column(String kafka, String given, String type, Notes notes)
      throws IOException {
    return ExpressionUtils.column(
        new Invoke(
            Literal.fromObject(of(given, notes)),
            "decode",
            DataType.fromJson(type),
            new $colon$colon<>(UnresolvedAttribute.quoted(kafka), none()),
            none(),
            false,
            false,
            false));
  }

  @SuppressWarnings("unchecked")
  private static <T> List<T> none() {
    return (List<T>) (Object) Nil$.MODULE$;
  }

  private void readObject(ObjectInputStream from) throws IOException, ClassNotFoundException {
    from.defaultReadObject();
    reader = new JsonReader(root);
  }

  /** The wanted fields, kafka, and whether the record is malformed. Throws Unsure. */
  public InternalRow decode(InternalRow kafka) {
    int partition = kafka.getInt(PARTITION);
    long offset = kafka.getLong(OFFSET);
    InternalRow raw = kafka.getStruct(RAW, PARTS_OF_RAW);
    byte[] value = raw.isNullAt(VALUE) ? null : raw.getBinary(VALUE);
    Object[] values = new Object[required.length];
    boolean good = read(value, values, partition, offset);
    Object[] row = new Object[columns.length + 2];
    for (int n = 0; good && n < columns.length; n++) {
      row[n] = values[columns[n]];
    }
    Long time = good ? (Long) values[eventTime] : null;
    Long sent = kafka.isNullAt(TIMESTAMP) ? null : kafka.getLong(TIMESTAMP);
    boolean kept = captured == null || captured.keeps(raw, sent, time);
    row[columns.length] = kept ? kafka : withoutRaw(kafka);
    row[columns.length + 1] = good || (value == null && drops) ? null : PENDING;
    if (notes != null) {
      notes.note(partition, offset, sent, time);
      if (good) {
        notes.look(partition, offset, value, reader.unnamed);
      }
    }
    return new GenericInternalRow(row);
  }

  /** Whether the record is good; then its values are there. */
  private boolean read(byte[] value, Object[] values, int partition, long offset) {
    if (value == null || value.length == 0) {
      return false;
    }
    try {
      reader.read(value, values);
    } catch (Verdict verdict) {
      if (verdict == Verdict.UNSURE) {
        throw new Unsure(partition, offset);
      }
      return false;
    }
    for (int n = 0; n < required.length; n++) {
      if (required[n] && values[n] == null) {
        return false;
      }
    }
    return true;
  }

  private static InternalRow withoutRaw(InternalRow kafka) {
    Object[] parts = new Object[RAW + 1];
    parts[PARTITION] = kafka.getInt(PARTITION);
    parts[OFFSET] = kafka.getLong(OFFSET);
    for (int n = TIMESTAMP; n <= MILLIS; n++) {
      parts[n] = kafka.isNullAt(n) ? null : kafka.getLong(n);
    }
    return new GenericInternalRow(parts);
  }
}
