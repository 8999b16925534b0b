package sluice.decode;

/** What ends the decoding of a record that has no values. Without a stack: there may be millions. */
final class Verdict extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Python refuses the record too, and says why. */
  static final Verdict REFUSED = new Verdict();

  /** Only Python knows. */
  static final Verdict UNSURE = new Verdict();

  private Verdict() {
    super(null, null, false, false);
  }
}
