package sluice.decode;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** An object, an array or a value of a record, as spark_jobs/decode/json/tree.py has it. */
final class Node implements Serializable {
  private static final long serialVersionUID = 1L;

  final boolean required;

  /** Of a value its kind and where it goes; else null. */
  final Leaf leaf;

  /** Of an object: of each name there is a node. They are ASCII. */
  final byte[][] names;

  final Node[] nodes;

  /** Of an array, ascending: of each place there is a node. */
  final int[] places;

  /** In the record with this number it was found last. */
  transient long seen;

  /** Of an array: where the values at its places are in the record. */
  transient int[] spans;

  Node(JsonNode given) {
    required = given.path("required").asBoolean();
    leaf = given.has("leaf") ? new Leaf(given.path("leaf")) : null;
    Map<String, JsonNode> keys = parts(given.path("keys"));
    Map<Integer, JsonNode> inArray = new TreeMap<>();
    parts(given.path("places")).forEach((place, node) -> inArray.put(Integer.valueOf(place), node));
    names = keys.keySet().stream().map(key -> key.getBytes(UTF_8)).toArray(byte[][]::new);
    places = inArray.keySet().stream().mapToInt(Integer::intValue).toArray();
    nodes =
        Stream.concat(keys.values().stream(), inArray.values().stream())
            .map(Node::new)
            .toArray(Node[]::new);
  }

  private static Map<String, JsonNode> parts(JsonNode given) {
    Map<String, JsonNode> found = new LinkedHashMap<>();
    given.fieldNames().forEachRemaining(name -> found.put(name, given.get(name)));
    return found;
  }

  boolean isArray() {
    return places.length > 0;
  }

  /** Which of the names these bytes are, looked for from `guess` on; -1 if none. */
  int find(byte[] text, int from, int end, int guess) {
    int length = end - from;
    for (int n = 0, at = guess; n < names.length; n++, at++) {
      if (at >= names.length) {
        at = 0;
      }
      byte[] name = names[at];
      if (name.length == length && same(name, text, from)) {
        return at;
      }
    }
    return -1;
  }

  private static boolean same(byte[] name, byte[] text, int from) {
    for (int at = 0; at < name.length; at++) {
      if (name[at] != text[from + at]) {
        return false;
      }
    }
    return true;
  }

  /** Which of the names these bytes are in another case; -1 if none. */
  int inAnotherCase(byte[] text, int from, int end) {
    for (int at = 0; at < names.length; at++) {
      if (names[at].length == end - from && alike(names[at], text, from)) {
        return at;
      }
    }
    return -1;
  }

  private static boolean alike(byte[] name, byte[] text, int from) {
    for (int at = 0; at < name.length; at++) {
      if (lower(name[at]) != lower(text[from + at])) {
        return false;
      }
    }
    return true;
  }

  private static int lower(byte letter) {
    return letter >= 'A' && letter <= 'Z' ? letter + 32 : letter;
  }
}
