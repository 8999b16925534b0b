package sluice.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.PosixFileAttributes;
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
  private static final int ALL_BUT_IDS = 01777;
  private static final int IDS = 06000;

  /**
   * Sets the nine bits of a mode and the sticky one. Follows links. Of a folder the set-user and set-group bits stay, as GNU's
   * chmod leaves them where it is given up to four digits: a team's root keeps its group for all that is made below.
   */
  @Override
  public void setPermission(Path path, FsPermission permission) throws IOException {
    java.nio.file.Path file = nio(path);
    try {
      int kept = Files.isDirectory(file) ? mode(file) & IDS : 0;
      Files.setAttribute(file, "unix:mode", permission.toShort() & ALL_BUT_IDS | kept);
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
        of.getAccessTime(), new FsPermission((short) (mode(file) & ALL_BUT_IDS)), has.owner().getName(), has.group().getName(), target, path);
  }

  private java.nio.file.Path nio(Path path) {
    return pathToFile(path).toPath();
  }

  /** As stat(2) has it, of what a link leads to. */
  private static int mode(java.nio.file.Path file) throws IOException {
    return (Integer) Files.getAttribute(file, "unix:mode");
  }
}
