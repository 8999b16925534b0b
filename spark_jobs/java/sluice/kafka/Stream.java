package sluice.kafka;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.kafka010.KafkaSourceOffset;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's stream of a topic, whose records Reader reads, and which may end before the topic does. All
 * else is Spark's.
 */
final class Stream implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
  private final MicroBatchStream sparks;
  private final boolean headers;
  private final Map<TopicPartition, Object> until;

  /** With until null it ends where the topic does. */
  Stream(MicroBatchStream sparks, boolean headers, String until) {
    this.sparks = sparks;
    this.headers = headers;
    this.until = until == null ? null : offsets(sparks.deserializeOffset(until));
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new Reader.Factory(headers);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return sparks.planInputPartitions(start, end);
  }

  @Override
  public Offset latestOffset() {
    return ended(sparks.latestOffset(), null);
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    return ended(limited().latestOffset(start, limit), start);
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    return limited().getDefaultReadLimit();
  }

  @Override
  public Offset reportLatestOffset() {
    return limited().reportLatestOffset();
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    ((SupportsTriggerAvailableNow) sparks).prepareForTriggerAvailableNow();
  }

  @Override
  public Map<String, String> metrics(Optional<Offset> consumed) {
    return ((ReportsSourceMetrics) sparks).metrics(consumed);
  }

  @Override
  public Offset initialOffset() {
    return sparks.initialOffset();
  }

  @Override
  public Offset deserializeOffset(String json) {
    return sparks.deserializeOffset(json);
  }

  @Override
  public void commit(Offset end) {
    sparks.commit(end);
  }

  @Override
  public void stop() {
    sparks.stop();
  }

  @Override
  public String toString() {
    return sparks.toString();
  }

  /** Spark's end, or the earlier one: not before `start`, as where retention has moved that since. */
  private Offset ended(Offset found, Offset start) {
    if (until == null || found == null) {
      return found;
    }
    Map<TopicPartition, Object> starts = start == null ? Map.of() : offsets(start);
    Map<TopicPartition, Object> ends = new HashMap<>();
    offsets(found)
        .forEach(
            (partition, end) -> {
              Long least = (Long) starts.get(partition);
              Long most = (Long) until.getOrDefault(partition, least);
              if (most != null) {
                long early = Math.min((Long) end, most);
                ends.put(partition, least == null ? early : Math.max(least, early));
              }
            });
    return new KafkaSourceOffset(
        scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(ends)));
  }

  private static Map<TopicPartition, Object> offsets(Offset of) {
    return CollectionConverters.asJava(((KafkaSourceOffset) of).partitionToOffsets());
  }

  private SupportsAdmissionControl limited() {
    return (SupportsAdmissionControl) sparks;
  }
}
