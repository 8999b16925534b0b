package sluice.decode;

/** A value that a field may not have. Without a stack: there may be millions. */
final class Wrong extends RuntimeException {
  private static final long serialVersionUID = 1L;
  static final Wrong VALUE = new Wrong();

  private Wrong() {
    super(null, null, false, false);
  }
}
