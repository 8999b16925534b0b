package sluice.decode;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.util.CollectionAccumulator;
import org.apache.spark.util.TaskCompletionListener;

/**
 * What the tasks of one query note of the records that they decode: their slices, as
 * spark_jobs/decode/slices.py has them, and some records for spark_jobs/decode/json/unnamed.py.
 */
public final class Notes implements Serializable {
  private static final long serialVersionUID = Decoder.FORM;
  private static final int LEAST = 100;
  private static final int STEP = 200;

  /** Of one task's records for unnamed.py. */
  private static final int MOST_BYTES = 100_000;

  private final CollectionAccumulator<long[]> slices = new CollectionAccumulator<>();
  private final CollectionAccumulator<String> samples = new CollectionAccumulator<>();
  private final long offsets;
  private final long ahead;
  private final long clock;
  private final long late;

  /** Whether anybody asks for samples. */
  private final boolean sampling;

  private transient Map<Long, Map<Long, long[]>> found;
  private transient List<String> sampled;
  private transient long[] slice;
  private transient int partition;
  private transient long cell;
  private transient long records;
  private transient long lookedAt;
  private transient int bytes;

  /** As SlicePolicy has it; times in microseconds. */
  public Notes(
      SparkContext context, long offsets, long ahead, long clock, long late, boolean sampling) {
    this.offsets = offsets;
    this.ahead = ahead;
    this.clock = clock;
    this.late = late;
    this.sampling = sampling;
    context.register(slices);
    context.register(samples);
  }

  /** The numbers of each slice that came since the last call, a line for each. */
  public String slices() {
    StringBuilder lines = new StringBuilder();
    for (long[] each : taken(slices)) {
      for (long number : each) {
        lines.append(number).append(' ');
      }
      lines.append('\n');
    }
    return lines.toString();
  }

  /**
   * How many records tasks have looked at since the last call, and those that have a key that no
   * field names: partition, offset and bytes, a line for each.
   */
  public String samples() {
    StringBuilder lines = new StringBuilder();
    long count = 0;
    for (String each : taken(samples)) {
      if (each.indexOf(' ') < 0) {
        count += Long.parseLong(each);
      } else {
        lines.append('\n').append(each);
      }
    }
    return count + lines.toString();
  }

  /** While tasks may end: what they add meanwhile stays. */
  private static <T> List<T> taken(CollectionAccumulator<T> of) {
    synchronized (of) {
      List<T> all = new ArrayList<>(of.value());
      of.reset();
      return all;
    }
  }

  /** A record and its event time; null if it is malformed. */
  void note(int of, long offset, Long sent, Long time) {
    begin();
    long number = Math.floorDiv(offset, offsets);
    if (slice == null || partition != of || cell != number) {
      partition = of;
      cell = number;
      slice =
          found
              .computeIfAbsent((long) of, key -> new HashMap<>())
              .computeIfAbsent(number, key -> none(of, offset));
    }
    slice[1] = Math.min(slice[1], offset);
    slice[2] = Math.max(slice[2], offset);
    slice[3]++;
    if (time == null || (sent != null && time > sent + ahead)) {
      return;
    }
    int times = 4;
    if (time <= late) {
      slice[8]++;
      times = 9;
    } else if (time > clock + ahead) {
      times = 6;
    }
    slice[times] = Math.min(slice[times], time);
    slice[times + 1] = Math.max(slice[times + 1], time);
  }

  /** A good record, with a key that no field names or without. */
  void look(int of, long offset, byte[] value, boolean unnamed) {
    long number = records++;
    if (!sampling || (number >= LEAST && number % STEP != 0) || bytes > MOST_BYTES) {
      return;
    }
    lookedAt++;
    if (unnamed && value.length <= MOST_BYTES) {
      bytes += value.length;
      sampled.add(of + " " + offset + " " + Base64.getEncoder().encodeToString(value));
    }
  }

  private void begin() {
    if (found != null) {
      return;
    }
    found = new HashMap<>();
    sampled = new ArrayList<>();
    TaskContext.get().addTaskCompletionListener((TaskCompletionListener) ended -> end());
  }

  private void end() {
    found.values().forEach(each -> each.values().forEach(slices::add));
    samples.add(Long.toString(lookedAt));
    sampled.forEach(samples::add);
  }

  private static long[] none(int of, long offset) {
    long first = Long.MAX_VALUE;
    long last = Long.MIN_VALUE;
    return new long[] {of, offset, offset, 0, first, last, first, last, 0, first, last};
  }
}
