package sluice.decode;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The values of one record after the other, by a tree of nodes; or a Verdict. It takes and refuses
 * what msgspec does (json_decode_struct_map_inner, json_skip), with what decode/json/ adds.
 */
final class JsonReader {
  private static final int MOST_DEPTH = 100;
  private static final int MOST_DIGITS = 1000;
  private static final byte[] KELVIN = {(byte) 0xE2, (byte) 0x84, (byte) 0xAA};

  private final Node root;
  private final CharsetDecoder utf8 = StandardCharsets.UTF_8.newDecoder();
  private byte[] text;
  private int at;
  private int end;
  private Object[] row;
  private long record;

  /** Whether a value is wrong. Of a key that comes twice the last value may be right. */
  private boolean wrong;

  private boolean twice;
  private boolean arrays;

  /** Whether the last record had a key that no node names. */
  boolean unnamed;

  /** The last text, without its escapes: in the record, or in `unescaped`. */
  private byte[] of;

  private int from;
  private int until;
  private boolean escaped;
  private byte[] unescaped = new byte[256];

  /** Whether the last number has a fraction or an exponent. */
  private boolean fraction;

  JsonReader(Node root) {
    this.root = root;
  }

  /** Puts the values of a record, which is not empty, into the row. Throws a Verdict. */
  void read(byte[] value, Object[] into) {
    text = value;
    at = 0;
    end = value.length;
    row = into;
    record++;
    wrong = false;
    twice = false;
    arrays = false;
    unnamed = false;
    requireUtf8();
    require(peek() == '{');
    object(root, 1);
    for (; at < end; at++) {
      require(space(text[at]));
    }
    if (arrays) {
      elements(root);
    }
    if (wrong) {
      throw twice ? Verdict.UNSURE : Verdict.REFUSED;
    }
  }

  private void requireUtf8() {
    for (int n = 0; n < end; n++) {
      if (text[n] < 0) {
        try {
          utf8.decode(ByteBuffer.wrap(text));
          return;
        } catch (CharacterCodingException none) {
          throw Verdict.REFUSED;
        }
      }
    }
  }

  private void object(Node node, int depth) {
    deepen(depth);
    at++;
    boolean first = true;
    int guess = 0;
    boolean[] odd = null;
    while (true) {
      byte letter = peek();
      if (letter == '}') {
        at++;
        break;
      }
      if (!first) {
        require(letter == ',');
        at++;
        letter = peek();
      }
      first = false;
      require(letter == '"');
      string();
      int found = node.find(of, from, until, guess);
      if (found < 0) {
        odd = odd(node, odd);
      }
      colon();
      if (found < 0) {
        unnamed = true;
        skip(depth);
      } else {
        guess = found + 1;
        member(node.nodes[found], depth);
      }
    }
    for (int n = 0; n < node.nodes.length; n++) {
      if (node.nodes[n].seen != record) {
        wrong |= node.nodes[n].required || (odd != null && odd[n]);
      }
    }
  }

  private void member(Node child, int depth) {
    if (child.seen == record) {
      twice = true;
      forget(child);
    }
    child.seen = record;
    if (child.spans != null) {
      Arrays.fill(child.spans, 0);
    }
    value(child, depth);
  }

  /** With the name that the key, which is none, is in another case. */
  private boolean[] odd(Node node, boolean[] known) {
    for (int n = from; n + 2 < until; n++) {
      if (Arrays.equals(of, n, n + KELVIN.length, KELVIN, 0, KELVIN.length)) {
        throw Verdict.UNSURE;
      }
    }
    int like = node.inAnotherCase(of, from, until);
    if (like < 0) {
      return known;
    }
    if (escaped) {
      throw Verdict.UNSURE;
    }
    boolean[] found = known == null ? new boolean[node.nodes.length] : known;
    found[like] = true;
    return found;
  }

  private void forget(Node node) {
    if (node.leaf != null) {
      row[node.leaf.column] = null;
    }
    for (Node child : node.nodes) {
      child.seen = 0;
      forget(child);
    }
  }

  private void value(Node node, int depth) {
    byte letter = peek();
    if (letter == 'n') {
      word("null");
      wrong |= node.required;
    } else if (node.leaf != null) {
      leaf(node.leaf, letter, depth);
    } else if (letter == '{' && !node.isArray()) {
      object(node, depth + 1);
    } else if (letter == '[' && node.isArray()) {
      array(node, depth + 1);
    } else {
      skip(depth);
      wrong = true;
    }
  }

  private void leaf(Leaf leaf, byte letter, int depth) {
    Object found = null;
    try {
      if (letter == '"') {
        string();
        found = leaf.ofText(of, from, until);
        if (of == unescaped && found instanceof UTF8String view) {
          found = view.copy();
        }
      } else if (letter == '-' || (letter >= '0' && letter <= '9')) {
        int first = at;
        number();
        found = leaf.ofNumber(text, first, at, fraction);
      } else if (letter == 't' || letter == 'f') {
        word(letter == 't' ? "true" : "false");
        found = leaf.ofBoolean(letter == 't');
      } else {
        skip(depth);
        wrong = true;
      }
    } catch (Wrong ignored) {
      wrong = true;
    }
    row[leaf.column] = found;
  }

  /** Where its places are. What is there counts when the record is read to its end. */
  private void array(Node node, int depth) {
    deepen(depth);
    arrays = true;
    if (node.spans == null) {
      node.spans = new int[2 * node.places.length];
    }
    at++;
    boolean first = true;
    for (int place = 0, next = 0; ; place++) {
      byte letter = peek();
      if (letter == ']') {
        at++;
        return;
      }
      if (!first) {
        require(letter == ',');
        at++;
        peek();
      }
      first = false;
      int begin = at;
      skip(depth);
      if (next < node.places.length && node.places[next] == place) {
        node.spans[2 * next] = begin;
        node.spans[2 * next + 1] = at;
        next++;
      }
    }
  }

  private void elements(Node node) {
    for (int n = 0; n < node.nodes.length; n++) {
      Node child = node.nodes[n];
      if (!node.isArray()) {
        if (child.seen == record) {
          elements(child);
        }
      } else if (node.spans != null && node.spans[2 * n + 1] > 0) {
        at = node.spans[2 * n];
        end = node.spans[2 * n + 1];
        value(child, 1);
      }
    }
  }

  private void skip(int depth) {
    byte letter = peek();
    switch (letter) {
      case 'n':
        word("null");
        break;
      case 't':
        word("true");
        break;
      case 'f':
        word("false");
        break;
      case '"':
        string();
        break;
      case '[':
        skipParts(depth + 1, (byte) ']', false);
        break;
      case '{':
        skipParts(depth + 1, (byte) '}', true);
        break;
      default:
        number();
    }
  }

  private void skipParts(int depth, byte last, boolean named) {
    deepen(depth);
    at++;
    boolean first = true;
    while (true) {
      byte letter = peek();
      if (letter == last) {
        at++;
        return;
      }
      if (!first) {
        require(letter == ',');
        at++;
        letter = peek();
      }
      first = false;
      if (named) {
        require(letter == '"');
        string();
        colon();
      }
      skip(depth);
    }
  }

  private void colon() {
    require(peek() == ':');
    at++;
  }

  private void string() {
    at++;
    of = text;
    from = at;
    escaped = false;
    while (true) {
      require(at < end);
      byte letter = text[at];
      if (letter == '"') {
        until = at++;
        return;
      }
      if (letter == '\\') {
        unescape();
        return;
      }
      require(letter < 0 || letter >= ' ');
      at++;
    }
  }

  private void unescape() {
    escaped = true;
    int length = at - from;
    // No escape is shorter than what it means.
    if (unescaped.length < end - from) {
      unescaped = new byte[2 * (end - from)];
    }
    System.arraycopy(text, from, unescaped, 0, length);
    while (true) {
      require(at < end);
      byte letter = text[at++];
      if (letter == '"') {
        of = unescaped;
        from = 0;
        until = length;
        return;
      }
      require(letter < 0 || letter >= ' ');
      if (letter != '\\') {
        unescaped[length++] = letter;
        continue;
      }
      require(at < end);
      letter = text[at++];
      if (letter == 'u') {
        length = put(codePoint(), length);
      } else {
        int which = "\"\\/bfnrt".indexOf(letter);
        require(which >= 0);
        unescaped[length++] = (byte) "\"\\/\b\f\n\r\t".charAt(which);
      }
    }
  }

  private int codePoint() {
    int high = hexadecimal();
    if (high < 0xD800 || high > 0xDFFF) {
      return high;
    }
    require(high < 0xDC00 && end - at >= 6 && text[at] == '\\' && text[at + 1] == 'u');
    at += 2;
    int low = hexadecimal();
    require(low >= 0xDC00 && low <= 0xDFFF);
    return 0x10000 + ((high - 0xD800) << 10 | (low - 0xDC00));
  }

  private int hexadecimal() {
    require(end - at >= 4);
    int found = 0;
    for (int n = 0; n < 4; n++) {
      byte letter = text[at++];
      int digit = letter < 0 ? -1 : Character.digit((char) letter, 16);
      require(digit >= 0);
      found = found << 4 | digit;
    }
    return found;
  }

  private int put(int point, int to) {
    int length = to;
    if (point < 0x80) {
      unescaped[length++] = (byte) point;
    } else if (point < 0x800) {
      unescaped[length++] = (byte) (0xC0 | point >> 6);
      unescaped[length++] = (byte) (0x80 | point & 0x3F);
    } else {
      if (point < 0x10000) {
        unescaped[length++] = (byte) (0xE0 | point >> 12);
      } else {
        unescaped[length++] = (byte) (0xF0 | point >> 18);
        unescaped[length++] = (byte) (0x80 | point >> 12 & 0x3F);
      }
      unescaped[length++] = (byte) (0x80 | point >> 6 & 0x3F);
      unescaped[length++] = (byte) (0x80 | point & 0x3F);
    }
    return length;
  }

  private void number() {
    int begin = at;
    fraction = false;
    if (at < end && text[at] == '-') {
      at++;
    }
    int first = at;
    digits();
    require(at > first && (text[first] != '0' || at == first + 1));
    if (at < end && text[at] == '.') {
      fraction = true;
      first = ++at;
      digits();
      require(at > first);
    }
    if (at < end && (text[at] == 'e' || text[at] == 'E')) {
      fraction = true;
      at++;
      if (at < end && (text[at] == '+' || text[at] == '-')) {
        at++;
      }
      first = at;
      digits();
      require(at > first);
    }
    if (at - begin > MOST_DIGITS) {
      throw Verdict.UNSURE;
    }
  }

  private void digits() {
    while (at < end && text[at] >= '0' && text[at] <= '9') {
      at++;
    }
  }

  private void word(String letters) {
    require(end - at >= letters.length());
    for (int n = 0; n < letters.length(); n++) {
      require(text[at++] == letters.charAt(n));
    }
  }

  /** The next letter that is no space, where it is. */
  private byte peek() {
    while (at < end) {
      byte letter = text[at];
      if (!space(letter)) {
        return letter;
      }
      at++;
    }
    throw Verdict.REFUSED;
  }

  private static boolean space(byte letter) {
    return letter == ' ' || letter == '\n' || letter == '\r' || letter == '\t';
  }

  private static void deepen(int depth) {
    if (depth > MOST_DEPTH) {
      throw Verdict.UNSURE;
    }
  }

  /** Of what is no JSON, whatever follows. */
  private static void require(boolean holds) {
    if (!holds) {
      throw Verdict.REFUSED;
    }
  }
}
