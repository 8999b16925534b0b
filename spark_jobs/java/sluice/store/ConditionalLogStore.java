package sluice.store;

import io.delta.storage.HadoopFileSystemLogStore;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Delta's log on S3: an entry is put only if there is none of its name, whoever writes it, as delta-rs does. Delta's own store
 * for S3 keeps apart the writers of one JVM only, and overwrites what others have committed meanwhile.
 *
 * <p>Before an entry is put, the lease is looked at that protects the table, if the session was told of one: an entry has the
 * number behind the version that Delta has read. So what a later holder has committed lies in its place, however long this writer
 * has slept, and whichever command of Spark's it carries out.
 *
 * <p>Source: S3SingleDriverLogStore of Delta 4.4.0.
 */
public class ConditionalLogStore extends HadoopFileSystemLogStore {
  private static final int FORM = 1;
  private static final String LEASE = "sluice.lease.path";
  private static final String HOLDER = "sluice.lease.holder";

  public ConditionalLogStore(Configuration configuration) {
    super(configuration);
  }

  /** What these classes keep apart: launch/session.py refuses a jar that says another number, or none. */
  public static int form() {
    return FORM;
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration configuration) throws IOException {
    FileSystem files = path.getFileSystem(configuration);
    if (overwrite) {
      replace(files.create(path, true), actions);
      return;
    }
    confirm(configuration);
    try {
      create(new NewObject(files, path), actions);
    } catch (org.apache.hadoop.fs.FileAlreadyExistsException exists) {
      throw new FileAlreadyExistsException(path.toString()); // what Delta takes for a commit of another writer
    }
  }

  @Override
  public Boolean isPartialWriteVisible(Path path, Configuration configuration) {
    return false;
  }

  /**
   * Fails unless the lease has its holder's mark: who takes it next removes that object before it begins. The mark, and not the
   * content: what S3A reads of an object it may have from its cache.
   */
  private static void confirm(Configuration configuration) throws IOException {
    String lease = configuration.get(LEASE);
    if (lease != null) {
      Path path = new Path(lease);
      if (!configuration.get(HOLDER).equals(NewObject.writer(path.getFileSystem(configuration), path))) {
        throw new IOException("the lease " + lease + " is another's");
      }
    }
  }

  /** Whole or not at all: to close a stream of S3A, also after a failure, is to put what it has been given by then. */
  private static void replace(FSDataOutputStream stream, Iterator<String> actions) throws IOException {
    try {
      lines(actions, stream);
    } catch (IOException | RuntimeException failure) {
      stream.abort();
      throw failure;
    }
    stream.close();
  }

  private static void create(NewObject entry, Iterator<String> actions) throws IOException {
    try {
      lines(actions, entry.stream());
    } catch (IOException | RuntimeException failure) {
      entry.abandon();
      throw failure;
    }
    try {
      entry.stream().close();
    } catch (IOException failure) {
      entry.settle(failure);
    }
  }

  private static void lines(Iterator<String> actions, FSDataOutputStream stream) throws IOException {
    while (actions.hasNext()) {
      stream.write((actions.next() + "\n").getBytes(StandardCharsets.UTF_8));
    }
  }
}
