package sluice.store;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * An object that is put only if there is none of its name yet: the store decides, in the one request that makes it (If-None-Match).
 * S3A's create(path, false) only looks first, and two writers that look at the same moment both go on.
 *
 * <p>A store may take an object and be cut off before it has said so; the request is then sent again and refused. So each carries
 * a mark of its writer, and one that is refused looks whose is there.
 */
final class NewObject {
  private static final String MARK = "sluice-writer";

  private final FileSystem files;
  private final Path path;
  private final String writer = UUID.randomUUID().toString();
  private final FSDataOutputStream stream;

  /** Fails with Hadoop's FileAlreadyExistsException where there is one already. */
  NewObject(FileSystem files, Path path) throws IOException {
    this.files = files;
    this.path = path;
    @SuppressWarnings("unchecked")
    FSDataOutputStreamBuilder<FSDataOutputStream, ?> asked = files.createFile(path);
    asked.create().recursive();
    asked.must("fs.option.create.conditional.overwrite", true); // a file system that does not know it must not be written to
    asked.opt("fs.s3a.create.header." + MARK, writer);
    this.stream = asked.build();
  }

  /** Where its content goes; nothing is there until settle. */
  FSDataOutputStream stream() {
    return stream;
  }

  /**
   * What a failure to close the stream meant: nothing where the object that is there is this writer's all the same. Otherwise
   * throws Hadoop's FileAlreadyExistsException where it is another's, and the failure itself where there is none, or it is not
   * known.
   */
  void settle(IOException failure) throws IOException {
    String found;
    try {
      if (!files.exists(path)) {
        throw failure;
      }
      found = writer(files, path);
    } catch (IOException unknown) {
      throw failure;
    }
    if (!writer.equals(found)) {
      throw new org.apache.hadoop.fs.FileAlreadyExistsException(path + " was put by another writer meanwhile");
    }
  }

  /** Leave it unmade. */
  void abandon() {
    stream.abort();
  }

  /** Whose mark an object has: asked of the store, which keeps it beside the content; empty without one. */
  static String writer(FileSystem files, Path path) throws IOException {
    for (Map.Entry<String, byte[]> each : files.getXAttrs(path).entrySet()) {
      if (each.getKey().endsWith(MARK)) {
        return new String(each.getValue(), StandardCharsets.UTF_8);
      }
    }
    return "";
  }
}
