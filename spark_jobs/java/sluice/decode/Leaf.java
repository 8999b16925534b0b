package sluice.decode;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/** A field's values: those that spark_jobs/decode/json/leaf.py takes, as Spark has them. */
final class Leaf implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final double LARGEST_FLOAT = 3.4028234663852886e38;
  private static final int MOST_DIGITS = 300;

  final int column;
  private final String kind;

  /** How it is written: of FORMATS; empty if as usual. */
  private final String format;

  private final int precision;
  private final int scale;

  Leaf(JsonNode given) {
    column = given.path("column").asInt();
    kind = given.path("kind").asText();
    format = given.path("format").asText("");
    precision = given.path("precision").asInt();
    scale = given.path("scale").asInt();
  }

  private boolean epoch() {
    return "ms".equals(format) || "us".equals(format) || "ns".equals(format);
  }

  /** The value of JSON's true or false. */
  Object ofBoolean(boolean value) {
    if ("boolean".equals(kind) && format.isEmpty()) {
      return value;
    }
    throw Wrong.VALUE;
  }

  /** The value of a JSON text, without its quotes and escapes. */
  Object ofText(byte[] text, int from, int end) {
    if (epoch()) {
      return time(whole(text, from, end));
    }
    if ("days".equals(format)) {
      return day(whole(text, from, end));
    }
    if ("text".equals(format)) {
      return ofNumberText(text, from, end);
    }
    switch (kind) {
      case "string":
        return UTF8String.fromBytes(text, from, end - from);
      case "timestamp":
        return Times.time(text, from, end, true);
      case "timestamp_ntz":
        return Times.time(text, from, end, false);
      case "date":
        return Times.date(text, from, end);
      default:
        throw Wrong.VALUE;
    }
  }

  /** The value of a JSON number, which is one by JSON's grammar. */
  Object ofNumber(byte[] text, int from, int end, boolean fraction) {
    if (epoch()) {
      return time(integer(text, from, end, fraction));
    }
    if ("days".equals(format)) {
      return day(integer(text, from, end, fraction));
    }
    if (!format.isEmpty()) {
      throw Wrong.VALUE;
    }
    switch (kind) {
      case "smallint":
      case "int":
      case "bigint":
        return ranged(integer(text, from, end, fraction));
      case "float":
      case "double":
        return floating(real(text, from, end, fraction));
      case "decimal":
        return decimal(text, from, end);
      default:
        throw Wrong.VALUE;
    }
  }

  private Object ofNumberText(byte[] text, int from, int end) {
    switch (kind) {
      case "smallint":
      case "int":
      case "bigint":
        return ranged(whole(text, from, end));
      case "float":
      case "double":
        {
          if (number(text, from, end) < 0) {
            throw Wrong.VALUE;
          }
          return floating(real(text, from, end, true));
        }
      case "boolean":
        {
          String word = ascii(text, from, end);
          if ("true".equals(word) || "false".equals(word)) {
            return "true".equals(word);
          }
          throw Wrong.VALUE;
        }
      case "decimal":
        return decimal(text, from, end);
      default:
        throw Verdict.UNSURE;
    }
  }

  private Object ranged(long value) {
    switch (kind) {
      case "smallint":
        if (value == (short) value) {
          return (short) value;
        }
        throw Wrong.VALUE;
      case "int":
        if (value == (int) value) {
          return (int) value;
        }
        throw Wrong.VALUE;
      default:
        return value;
    }
  }

  private Object floating(double value) {
    if (Double.isInfinite(value)) {
      throw Wrong.VALUE;
    }
    if ("double".equals(kind)) {
      return value;
    }
    if (Math.abs(value) > LARGEST_FLOAT) {
      throw Wrong.VALUE;
    }
    return (float) value;
  }

  private Object time(long number) {
    switch (format) {
      case "ms":
        if (number < Times.FIRST_US / 1000 || number > Times.LAST_US / 1000) {
          throw Wrong.VALUE;
        }
        return number * 1000;
      case "us":
        return Times.within(number);
      default:
        return Math.floorDiv(number, 1000L);
    }
  }

  private static Object day(long number) {
    if (number < -719_162 || number > 2_932_896) {
      throw Wrong.VALUE;
    }
    return (int) number;
  }

  /** A JSON number without a fraction, of 64 bits. Of others no type and no format has any. */
  private static long integer(byte[] text, int from, int end, boolean fraction) {
    if (fraction) {
      throw Wrong.VALUE;
    }
    return digits(text, from, end);
  }

  /** As the regular expression WHOLE: text of a number of 64 bits. */
  private static long whole(byte[] text, int from, int end) {
    int at = from < end && text[from] == '-' ? from + 1 : from;
    int count = end - at;
    if (count < 1 || count > 19 || (text[at] == '0' && count > 1)) {
      throw Wrong.VALUE;
    }
    for (; at < end; at++) {
      if (text[at] < '0' || text[at] > '9') {
        throw Wrong.VALUE;
      }
    }
    return digits(text, from, end);
  }

  private static long digits(byte[] text, int from, int end) {
    boolean negative = text[from] == '-';
    int at = negative ? from + 1 : from;
    if (end - at > 19) {
      throw Wrong.VALUE;
    }
    if (end - at == 19) {
      BigInteger found = new BigInteger(ascii(text, from, end));
      if (found.bitLength() > 63) {
        throw Wrong.VALUE;
      }
      return found.longValue();
    }
    long found = 0;
    for (; at < end; at++) {
      found = found * 10 + text[at] - '0';
    }
    return negative ? -found : found;
  }

  private static double real(byte[] text, int from, int end, boolean fraction) {
    if (!fraction && end - from <= 18) {
      return digits(text, from, end); // -0 is 0, for msgspec
    }
    if (end - from > MOST_DIGITS) {
      throw Verdict.UNSURE;
    }
    return Double.parseDouble(ascii(text, from, end));
  }

  private Object decimal(byte[] text, int from, int end) {
    int exponent = number(text, from, end);
    if (exponent < 0) {
      throw Wrong.VALUE;
    }
    if (end - from > MOST_DIGITS) {
      throw Verdict.UNSURE;
    }
    BigDecimal found = new BigDecimal(ascii(text, from, end));
    if (found.signum() == 0) {
      found = BigDecimal.ZERO;
    } else {
      found = found.stripTrailingZeros();
      if (found.scale() > scale || found.precision() - found.scale() > precision - scale) {
        throw Wrong.VALUE;
      }
    }
    return Decimal.apply(found.setScale(scale), precision, scale);
  }

  /** How many digits the exponent of a number of text has, as the regular expression NUMBER; -1: none is there. */
  private static int number(byte[] text, int from, int end) {
    int at = from < end && text[from] == '-' ? from + 1 : from;
    int first = at;
    at = behindDigits(text, at, end);
    if (at == first || (text[first] == '0' && at > first + 1)) {
      return -1;
    }
    if (at < end && text[at] == '.') {
      first = ++at;
      at = behindDigits(text, at, end);
      if (at == first) {
        return -1;
      }
    }
    int digits = 0;
    if (at < end && (text[at] == 'e' || text[at] == 'E')) {
      at++;
      if (at < end && (text[at] == '+' || text[at] == '-')) {
        at++;
      }
      first = at;
      at = behindDigits(text, at, end);
      digits = at - first;
      if (digits < 1 || digits > 3) {
        return -1;
      }
    }
    return at == end ? digits : -1;
  }

  private static int behindDigits(byte[] text, int from, int end) {
    int at = from;
    while (at < end && text[at] >= '0' && text[at] <= '9') {
      at++;
    }
    return at;
  }

  private static String ascii(byte[] text, int from, int end) {
    return new String(text, from, end - from, StandardCharsets.ISO_8859_1);
  }
}
