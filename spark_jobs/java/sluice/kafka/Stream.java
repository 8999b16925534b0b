package sluice.kafka;

import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/** Spark's stream of a topic, whose records Reader reads. All else is Spark's. */
final class Stream implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
  private final MicroBatchStream sparks;
  private final boolean headers;

  Stream(MicroBatchStream sparks, boolean headers) {
    this.sparks = sparks;
    this.headers = headers;
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
    return sparks.latestOffset();
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    return limited().latestOffset(start, limit);
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

  private SupportsAdmissionControl limited() {
    return (SupportsAdmissionControl) sparks;
  }
}
