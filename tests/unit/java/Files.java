import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.EnumSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Shell;

/**
 * Does to files what Spark does, and says what came of it, a line each: `java Files FOLDER everything|usual
 * [KEY=VALUE ...]`. Whose classes do it is in the configuration; the lines must be the same. Modes are asked of the operating
 * system.
 */
public class Files {
  private static final int[] MODES = {0001, 0002, 0004, 0010, 0020, 0040, 0100, 0200, 0400, 0000, 0777, 0640, 0755, 0711};
  private final Path home;
  private final FileSystem system;
  private final FileContext context;
  /** Also what takes Hadoop's processes in any case: the modes in the status of a link that leads somewhere. */
  private final boolean everything;
  private final String umask;

  private Files(String folder, boolean everything, String umask, Configuration configuration) throws IOException {
    configuration.set("fs.permissions.umask-mode", umask);
    URI local = URI.create("file:///");
    this.everything = everything;
    this.umask = umask;
    this.home = new Path("file:" + folder + "/" + umask);
    this.system = FileSystem.newInstance(local, configuration);
    this.context = FileContext.getFileContext(local, configuration);
  }

  public static void main(String[] words) throws IOException {
    Configuration configuration = new Configuration();
    for (int word = 2; word < words.length; word++) {
      configuration.set(words[word].split("=")[0], words[word].split("=")[1]);
    }
    System.out.println("classes " + FileSystem.newInstance(URI.create("file:///"), configuration).getClass().getName()
        + " " + FileContext.getFileContext(URI.create("file:///"), configuration).getDefaultFileSystem().getClass().getName());
    for (String umask : new String[] {"022", "077"}) {
      Files files = new Files(words[0], words[1].equals("everything"), umask, configuration);
      files.create();
      files.permit();
      files.link();
      files.check();
      files.rename();
      files.stick();
      files.inherit();
    }
  }

  private void create() throws IOException {
    system.mkdirs(at("made"));
    system.mkdirs(at("made/with/parents"), new FsPermission((short) 0750));
    context.mkdir(at("made/by/context"), new FsPermission((short) 0777), true);
    mode("made", "made/with", "made/with/parents", "made/by", "made/by/context");
    write(at("made/file"), "one");
    system.create(at("made/with/mode"), new FsPermission((short) 0660), true, 100, (short) 1, 1000, null).close();
    try (FSDataOutputStream out = context.create(
        at("made/by/file"), EnumSet.of(CreateFlag.CREATE), Options.CreateOpts.createParent())) {
      out.writeBytes("two");
    }
    mode("made/file", "made/.file.crc", "made/with/mode", "made/by/file", "made/by/.file.crc");
    FileStatus[] list = system.listStatus(at("made"));
    Arrays.sort(list);
    for (FileStatus found : list) {
      say("lists " + found.getPath().getName() + " " + found.isDirectory());
    }
    attempt("creates what is there", () -> context.create(at("made/file"), EnumSet.of(CreateFlag.CREATE)).close());
  }

  private void permit() throws IOException {
    write(at("permitted"), "one");
    for (int mode : MODES) {
      system.setPermission(at("permitted"), new FsPermission((short) mode));
      mode("permitted");
      context.setPermission(at("permitted"), new FsPermission((short) (0777 ^ mode)));
      mode("permitted");
    }
    attempt("permits nothing", () -> system.setPermission(at("absent"), new FsPermission((short) 0644)));
    attempt("permits nothing by context", () -> context.setPermission(at("absent"), new FsPermission((short) 0644)));
  }

  private void link() throws IOException {
    write(at("links/target"), "one");
    link("relative", "target");
    link("absolute", at("links/target").toUri().getPath());
    link("up", "../links/target");
    link("folder", ".");
    link("dangling", "nowhere");
    link("chain", "relative");
    for (String name : new String[] {"relative", "absolute", "up", "folder", "dangling", "chain", "target", "absent"}) {
      Path path = new Path(at("links/" + name).toUri().getPath());
      if (everything || !leads(path)) {
        attempt(name, () -> tell(name, system.getFileLinkStatus(path)));
        attempt(name + " by context", () -> tell(name + " by context", context.getFileLinkStatus(path)));
        attempt(name + " target", () -> say(name + " leads to " + context.getLinkTarget(path)));
        attempt("by URL " + name, () -> tell("by URL " + name, context.getFileLinkStatus(at("links/" + name))));
      }
      if (everything) {
        attempt(name + " link mode", () -> say(name + " link mode " + system.getFileLinkStatus(path).getPermission()));
      }
      attempt(name + " status", () -> tell(name + " status", system.getFileStatus(path)));
      attempt(name + " exists", () -> say(name + " exists " + system.exists(path)));
    }
    system.setPermission(at("links/relative"), new FsPermission((short) 0604));
    mode("links/target");
    attempt("permits what a link misses", () -> system.setPermission(at("links/dangling"), new FsPermission((short) 0644)));
  }

  private void check() throws IOException {
    write(at("checked"), "abc");
    say("reads " + read("checked"));
    java.nio.file.Files.write(nio("checked"), "abd".getBytes(StandardCharsets.UTF_8));
    attempt("reads a changed file", () -> say("reads " + read("checked")));
    attempt("reads a changed file by context", () -> context.open(at("checked")).read());
    attempt("reads nothing", () -> say("reads " + read("absent")));
  }

  private void rename() throws IOException {
    write(at("old"), "old");
    write(at("new"), "new");
    attempt("renames onto a file", () -> context.rename(at("new"), at("old")));
    context.rename(at("new"), at("old"), Options.Rename.OVERWRITE);
    say("reads " + read("old") + ", there is " + java.nio.file.Files.exists(nio("new")) + " " + java.nio.file.Files.exists(nio(".new.crc")));
    write(at("newer"), "newer");
    say("renames " + system.rename(at("newer"), at("old")) + ", reads " + read("old"));
    attempt("renames nothing", () -> context.rename(at("absent"), at("old"), Options.Rename.OVERWRITE));
    say("deletes " + system.delete(at("old"), false) + ", there is " + java.nio.file.Files.exists(nio(".old.crc")));
    context.mkdir(at("folder"), FsPermission.getDirDefault(), false);
    context.rename(at("folder"), at("moved"));
    mode("moved");
  }

  private void stick() throws IOException {
    system.mkdirs(at("sticky"), new FsPermission((short) 01777));
    mode("sticky");
    system.mkdirs(at("later"));
    system.setPermission(at("later"), new FsPermission((short) 01755));
    mode("later");
    system.setPermission(at("later"), new FsPermission((short) 0700));
    mode("later");
  }

  /** A folder that gives its group, or its user, to what is made in it goes on doing so; a file's bits of that kind go. */
  private void inherit() throws IOException {
    for (int bits : new int[] {02000, 04000, 06000, 03000}) {
      String folder = String.format("inherits%o", bits);
      system.mkdirs(at(folder));
      java.nio.file.Files.setAttribute(nio(folder), "unix:mode", bits | 0755);
      for (int mode : new int[] {0700, 01770, 0777}) {
        system.setPermission(at(folder), new FsPermission((short) mode));
        mode(folder);
        context.setPermission(at(folder), new FsPermission((short) (mode ^ 0070)));
        mode(folder);
      }
      system.mkdirs(at(folder + "/below"), new FsPermission((short) 0750));
      write(at(folder + "/file"), "one");
      java.nio.file.Files.setAttribute(nio(folder + "/file"), "unix:mode", bits | 0755);
      mode(folder + "/below", folder + "/file");
      system.setPermission(at(folder + "/file"), new FsPermission((short) 0644));
      mode(folder + "/file");
    }
  }

  private boolean leads(Path path) {
    java.nio.file.Path file = nio("links/" + path.getName());
    return java.nio.file.Files.isSymbolicLink(file) && java.nio.file.Files.exists(file);
  }

  private void tell(String name, FileStatus found) {
    say(name + ": link " + found.isSymlink() + ", folder " + found.isDirectory() + ", at " + found.getPath() + (found.isSymlink() ? " to " + symlink(found) : ""));
  }

  private static Path symlink(FileStatus found) {
    try {
      return found.getSymlink();
    } catch (IOException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private void write(Path path, String text) throws IOException {
    try (FSDataOutputStream out = system.create(path, true)) {
      out.writeBytes(text);
    }
  }

  private String read(String name) throws IOException {
    try (FSDataInputStream in = system.open(at(name))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private void link(String name, String target) throws IOException {
    java.nio.file.Files.createSymbolicLink(nio("links/" + name), Paths.get(target));
  }

  private void mode(String... names) throws IOException {
    for (String name : names) {
      int mode = (Integer) java.nio.file.Files.getAttribute(nio(name), "unix:mode");
      say(String.format("%s has mode %o", name, mode & 07777));
    }
  }

  private Path at(String name) {
    return new Path(home, name);
  }

  private java.nio.file.Path nio(String name) {
    return Paths.get(at(name).toUri().getPath());
  }

  private interface Action {
    void act() throws IOException;
  }

  /** What it throws is an answer too; its words may differ, and what chmod says when it fails here. */
  private void attempt(String what, Action action) {
    try {
      action.act();
      say(what + ": done");
    } catch (IOException error) {
      say(what + ": " + (error instanceof Shell.ExitCodeException ? "FileNotFoundException" : error.getClass().getSimpleName()));
    }
  }

  private void say(String line) {
    System.out.println("umask " + umask + ": " + line.replace(home.toString(), "~").replace(home.toUri().getPath(), "~"));
  }
}
