package sluice.files;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.FsServerDefaults;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.local.LocalConfigKeys;

/** RawFileSystem for Hadoop's FileContext. Source: RawLocalFs of Hadoop 3.5.0, which cannot be given another FileSystem. */
public class RawFs extends DelegateToFileSystem {
  public RawFs(URI uri, Configuration configuration) throws IOException, URISyntaxException {
    super(uri, new RawFileSystem(), configuration, FsConstants.LOCAL_FS_URI.getScheme(), false);
  }

  @Override
  public int getUriDefaultPort() {
    return -1; // `file:` has none
  }

  @Override
  public FsServerDefaults getServerDefaults(Path path) throws IOException {
    return LocalConfigKeys.getServerDefaults();
  }

  @Override
  public boolean isValidName(String name) {
    return true; // the operating system decides
  }
}
