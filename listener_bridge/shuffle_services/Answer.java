package shufflelifecycle;

import java.util.Iterator;
import java.util.Set;

/** The native service's answers as JSON, which its Python end turns into values. */
public class Answer {
  public static final String FENCED = "fenced";

  public static String fenced(Generations.Shuffle shuffle) {
    Row row = new Row("fenced").number("shuffle", shuffle.id).number("generation", shuffle.present - 1);
    row.text("locator", shuffle.locator == null ? "" : shuffle.locator);
    return close(row.number("bytes", shuffle.bytes).text("marker", shuffle.marker));
  }

  public static String busy(Set who) {
    StringBuilder json = new StringBuilder("[");
    Iterator it = who.iterator();
    while (it.hasNext()) {
      Row.quote(json, (String) it.next());
      json.append(it.hasNext() ? "," : "");
    }
    return close(new Row("busy").raw("who", json.append(']')));
  }

  public static String superseded(String by) {
    return close(new Row("superseded").text("by", by));
  }

  /** Spark has no such app shuffle: it never had, or has cleaned it. */
  public static String unregistered(int shuffle) {
    return close(new Row("unregistered").number("shuffle", shuffle));
  }

  public static String cannot(String why) {
    return close(new Row("cannot").text("why", why));
  }

  public static String freed(long bytes) {
    return close(new Row("freed").number("bytes", bytes));
  }

  public static String failed(String why) {
    return close(new Row("failed").text("why", why));
  }

  private static String close(Row row) {
    return "{" + row + "}";
  }
}
