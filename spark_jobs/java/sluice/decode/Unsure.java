package sluice.decode;

/** A record of which only Python knows whether it is malformed: the query runs again with Python's decoder. */
public final class Unsure extends RuntimeException {
  private static final long serialVersionUID = 1L;

  Unsure(int partition, long offset) {
    super("SLUICE_UNSURE: the record at partition " + partition + " offset " + offset);
  }
}
