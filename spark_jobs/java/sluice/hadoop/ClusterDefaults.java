package sluice.hadoop;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.util.ConfigUtil;

/**
 * What Hadoop's own files say of YARN and of MapReduce's jobs: two thirds of a Configuration's entries.
 *
 * <p>Spark copies a Configuration for every query, and writes it into many tasks, entry by entry.
 */
public final class ClusterDefaults {
  private static final Set<String> FILES = Set.of("yarn-default.xml", "mapred-default.xml");

  /** What readers and writers of files ask for. */
  private static final List<String> KEPT =
      List.of("mapreduce.input.", "mapreduce.output.", "mapreduce.outputcommitter.", "mapreduce.fileoutputcommitter.");

  private ClusterDefaults() {}

  /** Drop them, but no entry that anybody has set; how many they were. */
  public static int drop(Configuration configuration) {
    // Else Hadoop loads these files with its first JobConf, and every Configuration anew.
    ConfigUtil.loadResources();
    List<String> found = new ArrayList<>();
    for (Map.Entry<String, String> entry : configuration) {
      if (isOfCluster(configuration, entry.getKey())) {
        found.add(entry.getKey());
      }
    }
    found.forEach(configuration::unset);
    return found.size();
  }

  private static boolean isOfCluster(Configuration configuration, String name) {
    String[] sources = configuration.getPropertySources(name);
    return sources != null
        && FILES.containsAll(List.of(sources))
        && KEPT.stream().noneMatch(name::startsWith);
  }
}
