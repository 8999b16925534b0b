package sluice.files;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.FsConstants;

/**
 * RawFs with Hadoop's checksum files: what `file:` means to Hadoop's FileContext, by fs.AbstractFileSystem.file.impl. Spark's
 * checkpoints are written through it. Source: LocalFs of Hadoop 3.5.0.
 */
public class ChecksummedFs extends ChecksumFs {
  public ChecksummedFs(URI uri, Configuration configuration) throws IOException, URISyntaxException {
    super(new RawFs(FsConstants.LOCAL_FS_URI, configuration));
  }
}
