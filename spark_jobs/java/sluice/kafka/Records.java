package sluice.kafka;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaRecordToRowConverter;
import org.apache.spark.sql.kafka010.KafkaSourceProvider;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Spark's Kafka source with the timestamps of records as Kafka has them: a number of milliseconds
 * since 1970, of any size. Spark makes microseconds of them while it reads, and fails on one that
 * does not fit: it would read no record behind that one, for ever.
 *
 * <p>Options, offsets and connections are Spark's own. Columns: key and value binary, partition int,
 * offset and millis bigint, and headers as Spark has them: null unless the option includeHeaders is
 * true, and empty, not null, where a record has none. A stream ends at the offsets of the option
 * until, as Spark writes offsets, where it is given; of a partition that is not there it reads nothing.
 */
public final class Records implements TableProvider {
  /** The option. The driver looks whether it is here. */
  public static final String UNTIL = "until";

  static final StructType COLUMNS =
      new StructType()
          .add("key", DataTypes.BinaryType)
          .add("value", DataTypes.BinaryType)
          .add("partition", DataTypes.IntegerType)
          .add("offset", DataTypes.LongType)
          .add("millis", DataTypes.LongType)
          .add("headers", KafkaRecordToRowConverter.headersType());

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return COLUMNS;
  }

  @Override
  public Table getTable(StructType columns, Transform[] parts, Map<String, String> options) {
    CaseInsensitiveStringMap given = new CaseInsensitiveStringMap(options);
    return new Topic(
        new KafkaSourceProvider().getTable(given),
        given.getBoolean("includeHeaders", false),
        given.get(UNTIL));
  }

  private record Topic(SupportsRead sparks, boolean headers, String until) implements SupportsRead {
    @Override
    public String name() {
      return sparks.name();
    }

    @Override
    public StructType schema() {
      return COLUMNS;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return () -> new Offsets(sparks.newScanBuilder(options).build(), headers, until);
    }
  }

  private record Offsets(Scan sparks, boolean headers, String until) implements Scan {
    @Override
    public StructType readSchema() {
      return COLUMNS;
    }

    @Override
    public String description() {
      return sparks.description();
    }

    @Override
    public Batch toBatch() {
      return new Once(sparks.toBatch(), headers);
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      return new Stream(sparks.toMicroBatchStream(checkpoint), headers, until);
    }
  }

  private record Once(Batch sparks, boolean headers) implements Batch {
    @Override
    public InputPartition[] planInputPartitions() {
      return sparks.planInputPartitions();
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return new Reader.Factory(headers);
    }
  }
}
