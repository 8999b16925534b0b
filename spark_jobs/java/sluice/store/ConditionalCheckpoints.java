package sluice.store;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * The files of a streaming query's checkpoint on S3. An object is there whole once its put has ended, so nothing need be renamed,
 * which would be copy and delete there. An entry of a log is put only if there is none of its name: of two queries on one
 * checkpoint the second fails, with CONCURRENT_STREAM_LOG_UPDATE, instead of overwriting the first one's.
 *
 * <p>Source: CheckpointFileManager of Spark 4.2.0, AbortableStreamBasedCheckpointFileManager of spark-hadoop-cloud.
 */
public class ConditionalCheckpoints extends FileSystemBasedCheckpointFileManager {
  public ConditionalCheckpoints(Path path, Configuration configuration) {
    super(path, configuration);
  }

  /** Asked for without the right to overwrite, it fails with Hadoop's FileAlreadyExistsException, here or when it is closed. */
  @Override
  public CancellableFSDataOutputStream createAtomic(Path path, boolean overwriteIfPossible) {
    try {
      return overwriteIfPossible ? new Replaced(fs().create(path, true)) : new Created(new NewObject(fs(), path));
    } catch (IOException failure) {
      throw sneaky(failure); // as a Scala method may, which declares nothing
    }
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> RuntimeException sneaky(Throwable failure) throws T {
    throw (T) failure;
  }

  /** In the place of whatever is there. */
  private static final class Replaced extends CancellableFSDataOutputStream {
    private final FSDataOutputStream stream;
    private boolean ended;

    Replaced(FSDataOutputStream stream) {
      super(stream);
      this.stream = stream;
    }

    @Override
    public synchronized void close() throws IOException {
      if (!ended) {
        ended = true;
        super.close();
      }
    }

    @Override
    public synchronized void cancel() {
      if (!ended) {
        ended = true;
        stream.abort();
      }
    }
  }

  /** Only if nothing is there. */
  private static final class Created extends CancellableFSDataOutputStream {
    private final NewObject entry;
    private boolean ended;

    Created(NewObject entry) {
      super(entry.stream());
      this.entry = entry;
    }

    @Override
    public synchronized void close() throws IOException {
      if (ended) {
        return;
      }
      ended = true;
      try {
        super.close();
      } catch (IOException failure) {
        entry.settle(failure);
      }
    }

    @Override
    public synchronized void cancel() {
      if (!ended) {
        ended = true;
        entry.abandon();
      }
    }
  }
}
