package sluice.decode;

/** RFC 3339 as msgspec reads it: ms_decode_datetime_from_str, ms_decode_date. */
final class Times {
  static final long FIRST_US = -62_135_596_800_000_000L;
  static final long LAST_US = 253_402_300_799_999_999L;
  private static final int DAY_LETTERS = 10;
  private static final int LEAST_LETTERS = 19;
  private static final int[] DAYS = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

  private Times() {}

  /** Microseconds since 1970, of a second six digits. Without a zone: by its own clock. */
  static long time(byte[] text, int from, int end, boolean zoned) {
    if (end - from < LEAST_LETTERS) {
      throw Wrong.VALUE;
    }
    for (int at = from; at < end; at++) {
      if (text[at] == 0) {
        throw Verdict.UNSURE; // the end of the text, for msgspec
      }
    }
    long days = day(text, from, from + DAY_LETTERS);
    int at = from + DAY_LETTERS;
    byte between = text[at];
    require(between == 'T' || between == 't' || between == ' ');
    int hour = number(text, at + 1, 2);
    int minute = number(text, at + 4, 2);
    int second = number(text, at + 7, 2);
    require(text[at + 3] == ':' && text[at + 6] == ':');
    require(hour <= 23 && minute <= 59 && second <= 59);
    at += 9;
    long micros = 0;
    if (at < end && text[at] == '.') {
      int first = ++at;
      long unit = 100_000;
      while (at < end && digit(text[at])) {
        micros += (text[at++] - '0') * unit;
        unit /= 10;
      }
      require(at > first);
    }
    long minutes = days * 1440 + hour * 60L + minute;
    require(zoned == at < end);
    if (zoned) {
      minutes -= offset(text, at, end);
    }
    return within((minutes * 60 + second) * 1_000_000 + micros);
  }

  /** Days since 1970. */
  static int date(byte[] text, int from, int end) {
    require(end - from == DAY_LETTERS);
    return (int) day(text, from, end);
  }

  static long within(long us) {
    require(us >= FIRST_US && us <= LAST_US);
    return us;
  }

  /** Minutes. */
  private static int offset(byte[] text, int from, int end) {
    byte sign = text[from];
    if (sign == 'Z' || sign == 'z') {
      require(end == from + 1);
      return 0;
    }
    require((sign == '-' || sign == '+') && end - from > 3);
    int hours = number(text, from + 1, 2);
    int at = text[from + 3] == ':' ? from + 4 : from + 3;
    require(end - at == 2);
    int minutes = number(text, at, 2);
    require(hours <= 23 && minutes <= 59);
    return (hours * 60 + minutes) * (sign == '-' ? -1 : 1);
  }

  private static long day(byte[] text, int from, int end) {
    int year = number(text, from, 4);
    int month = number(text, from + 5, 2);
    int day = number(text, from + 8, 2);
    require(text[from + 4] == '-' && text[from + 7] == '-');
    require(year > 0 && month > 0 && month <= 12 && day > 0);
    boolean leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    require(day <= DAYS[month - 1] + (leap && month == 2 ? 1 : 0));
    // Howard Hinnant's days_from_civil: years begin in March.
    int y = month <= 2 ? year - 1 : year;
    int era = y / 400;
    int ofEra = y - era * 400;
    int ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146_097L + ofEra * 365L + ofEra / 4 - ofEra / 100 + ofYear - 719_468L;
  }

  private static int number(byte[] text, int from, int digits) {
    int found = 0;
    for (int at = from; at < from + digits; at++) {
      require(digit(text[at]));
      found = found * 10 + text[at] - '0';
    }
    return found;
  }

  private static boolean digit(byte letter) {
    return letter >= '0' && letter <= '9';
  }

  private static void require(boolean holds) {
    if (!holds) {
      throw Wrong.VALUE;
    }
  }
}
