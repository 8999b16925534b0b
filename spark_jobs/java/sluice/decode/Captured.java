package sluice.decode;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;

/** Which raw bytes a task keeps, as spark_jobs/decode/raw_filter.py decides it. */
final class Captured implements Serializable {
  private static final long serialVersionUID = 1L;
  private final long most;
  private final long ahead;
  private final long clock;
  private final long behind;
  private final int overhead;
  private long spent;

  Captured(JsonNode given) {
    most = given.path("bytes").asLong();
    ahead = given.path("ahead_us").asLong();
    clock = given.path("clock_us").asLong();
    behind = given.path("late_us").asLong();
    overhead = given.path("overhead").asInt();
  }

  boolean keeps(InternalRow raw, Long sent, Long time) {
    if (time != null && time > behind && time - clock <= ahead
        && (sent == null || time - sent <= ahead)) {
      return false;
    }
    spent += overhead + length(raw, 0) + length(raw, 1) + headers(raw);
    return spent <= most;
  }

  private static long length(InternalRow of, int at) {
    return of.isNullAt(at) ? 0 : of.getBinary(at).length;
  }

  private static long headers(InternalRow raw) {
    if (raw.isNullAt(2)) {
      return 0;
    }
    ArrayData given = raw.getArray(2);
    long found = 0;
    for (int n = 0; n < given.numElements(); n++) {
      InternalRow header = given.getStruct(n, 2);
      found += header.getUTF8String(0).numBytes() + length(header, 1);
    }
    return found;
  }
}
