package sluice.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;
import org.apache.hadoop.fs.FSLinkResolver;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Files of a local disk, without checksums. Where Hadoop has no native library, its own class starts a process for each mode
 * that it sets (chmod) and for each link that it looks for (readlink). This one asks the operating system through java.nio.
 * Everything else is Hadoop's.
 *
 * <p>Source: RawLocalFileSystem.setPermission, getFileLinkStatus and getLinkTarget, FileUtil.readLink of Hadoop 3.5.0.
 */
public class RawFileSystem extends RawLocalFileSystem {
  private static final PosixFilePermission[] FROM_THE_LOWEST_BIT = {
    PosixFilePermission.OTHERS_EXECUTE, PosixFilePermission.OTHERS_WRITE, PosixFilePermission.OTHERS_READ,
    PosixFilePermission.GROUP_EXECUTE, PosixFilePermission.GROUP_WRITE, PosixFilePermission.GROUP_READ,
    PosixFilePermission.OWNER_EXECUTE, PosixFilePermission.OWNER_WRITE, PosixFilePermission.OWNER_READ,
  };

  /** Sets the nine bits of a mode. Follows links, as chmod does. Leaves a sticky bit to Hadoop's chmod: java.nio has none. */
  @Override
  public void setPermission(Path path, FsPermission permission) throws IOException {
    if (permission.getStickyBit()) {
      super.setPermission(path, permission);
      return;
    }
    try {
      Files.setPosixFilePermissions(nio(path), permissions(permission.toShort()));
    } catch (NoSuchFileException absent) {
      throw new FileNotFoundException("File " + path + " does not exist");
    }
  }

  /** The status of a link itself, with its target as an absolute path; of anything else the status of the file. */
  @Override
  public FileStatus getFileLinkStatus(Path path) throws IOException {
    FileStatus found = linkStatus(path);
    if (found.isSymlink()) {
      found.setSymlink(FSLinkResolver.qualifySymlinkTarget(getUri(), found.getPath(), found.getSymlink()));
    }
    return found;
  }

  /** What a link says, as it says it. Fails with an IOException where the path is no link, as Hadoop's does. */
  @Override
  public Path getLinkTarget(Path path) throws IOException {
    return linkStatus(path).getSymlink();
  }

  private FileStatus linkStatus(Path path) throws IOException {
    java.nio.file.Path file = nio(path);
    if (!Files.isSymbolicLink(file)) {
      return getFileStatus(path);
    }
    Path target = new Path(Files.readSymbolicLink(file).toString());
    if (!Files.exists(file)) { // a link that leads nowhere is there all the same
      return new FileStatus(0, false, 0, 0, 0, 0, FsPermission.getDefault(), "", "", target, path);
    }
    FileStatus of = getFileStatus(path); // without mode and owner, for which Hadoop would start `ls`
    PosixFileAttributes has = Files.readAttributes(file, PosixFileAttributes.class);
    return new FileStatus(of.getLen(), false, of.getReplication(), of.getBlockSize(), of.getModificationTime(),
        of.getAccessTime(), permission(has.permissions()), has.owner().getName(), has.group().getName(), target, path);
  }

  private java.nio.file.Path nio(Path path) {
    return pathToFile(path).toPath();
  }

  private static Set<PosixFilePermission> permissions(int mode) {
    Set<PosixFilePermission> found = EnumSet.noneOf(PosixFilePermission.class);
    for (int bit = 0; bit < FROM_THE_LOWEST_BIT.length; bit++) {
      if ((mode >> bit & 1) == 1) {
        found.add(FROM_THE_LOWEST_BIT[bit]);
      }
    }
    return found;
  }

  private static FsPermission permission(Set<PosixFilePermission> permissions) {
    int mode = 0;
    for (int bit = 0; bit < FROM_THE_LOWEST_BIT.length; bit++) {
      mode |= permissions.contains(FROM_THE_LOWEST_BIT[bit]) ? 1 << bit : 0;
    }
    return new FsPermission((short) mode);
  }
}
