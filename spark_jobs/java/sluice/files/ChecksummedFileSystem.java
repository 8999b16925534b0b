package sluice.files;

import org.apache.hadoop.fs.LocalFileSystem;

/** RawFileSystem with Hadoop's checksum files: what `file:` means to Hadoop's FileSystem, by fs.file.impl. */
public class ChecksummedFileSystem extends LocalFileSystem {
  public ChecksummedFileSystem() {
    super(new RawFileSystem());
  }
}
