package sluice.kafka;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads a range of offsets, as Spark's KafkaBatchPartitionReader does it: by its consumer, which
 * tells what is lost from what was aborted. Spark plans exact offsets, never "the latest".
 */
final class Reader implements PartitionReader<InternalRow> {
  private final KafkaBatchInputPartition asked;
  private final KafkaDataConsumer consumer;
  private final boolean headers;
  private long next;
  private InternalRow row;

  private Reader(KafkaBatchInputPartition asked, boolean headers) {
    this.asked = asked;
    this.headers = headers;
    this.next = asked.offsetRange().fromOffset();
    if (next < 0 || asked.offsetRange().untilOffset() < 0) {
      throw new IllegalStateException("no exact offsets: " + asked.offsetRange());
    }
    this.consumer =
        KafkaDataConsumer.acquire(
            asked.offsetRange().topicPartition(), asked.executorKafkaParams());
  }

  @Override
  public boolean next() {
    long until = asked.offsetRange().untilOffset();
    if (next >= until) {
      return false;
    }
    ConsumerRecord<byte[], byte[]> record =
        consumer.get(next, until, asked.pollTimeoutMs(), asked.failOnDataLoss());
    if (record == null) {
      return false;
    }
    next = record.offset() + 1;
    row =
        new GenericInternalRow(
            new Object[] {
              record.key(),
              record.value(),
              record.partition(),
              record.offset(),
              record.timestamp(),
              headers ? headers(record) : null
            });
    return true;
  }

  private static GenericArrayData headers(ConsumerRecord<byte[], byte[]> record) {
    Header[] given = record.headers().toArray();
    Object[] rows = new Object[given.length];
    for (int at = 0; at < given.length; at++) {
      rows[at] =
          new GenericInternalRow(
              new Object[] {UTF8String.fromString(given[at].key()), given[at].value()});
    }
    return new GenericArrayData(rows);
  }

  @Override
  public InternalRow get() {
    return row;
  }

  @Override
  public void close() {
    consumer.release();
  }

  /** Goes to the executors. */
  static final class Factory implements PartitionReaderFactory {
    private static final long serialVersionUID = 2L;
    private final boolean headers;

    Factory(boolean headers) {
      this.headers = headers;
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition asked) {
      return new Reader((KafkaBatchInputPartition) asked, headers);
    }
  }
}
