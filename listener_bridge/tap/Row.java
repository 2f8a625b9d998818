package shufflelifecycle;

import org.apache.spark.scheduler.StageInfo;
import scala.Option;

/** One row of the stream under construction: a JSON object without its closing brace. */
public class Row {
  private static final String TRACEBACK = "Traceback (most recent call last):";
  private static final char[] HEX = "0123456789abcdef".toCharArray();
  private final StringBuilder text = new StringBuilder(128);

  public Row(String kind) {
    text.append("\"e\":\"").append(kind).append('"');
  }

  public Row number(String key, long value) {
    key(key).append(value);
    return this;
  }

  public Row number(String key, Number value) {
    key(key).append(value == null ? "null" : value.toString());
    return this;
  }

  public Row flag(String key, boolean value) {
    key(key).append(value);
    return this;
  }

  public Row text(String key, String value) {
    quote(key(key), value);
    return this;
  }

  public Row raw(String key, CharSequence json) {
    key(key).append(json);
    return this;
  }

  private StringBuilder key(String key) {
    return text.append(",\"").append(key).append("\":");
  }

  public String toString() {
    return text.toString();
  }

  public static void quote(StringBuilder to, String value) {
    if (value == null) {
      to.append("null");
      return;
    }
    to.append('"');
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\') {
        to.append('\\').append(c);
      } else if (isHalf(value, i)) {
        to.append('?'); // no text at all in any encoding
      } else if (c < 32 || c > 126) {
        to.append("\\u").append(HEX[c >> 12]).append(HEX[(c >> 8) & 15]).append(HEX[(c >> 4) & 15]).append(HEX[c & 15]);
      } else {
        to.append(c);
      }
    }
    to.append('"');
  }

  /** Whether it is one of the two that make a character, without the other. */
  private static boolean isHalf(String value, int i) {
    char c = value.charAt(i);
    if (Character.isHighSurrogate(c)) {
      return i + 1 == value.length() || !Character.isLowSurrogate(value.charAt(i + 1));
    }
    return Character.isLowSurrogate(c) && (i == 0 || !Character.isHighSurrogate(value.charAt(i - 1)));
  }

  public static String firstLine(String text) {
    if (text == null) {
      return "";
    }
    int end = text.indexOf('\n');
    return end < 0 ? text : text.substring(0, end);
  }

  /** Why something failed. What Python raised goes before where it did: of many reasons people see the first line. */
  public static String reason(String text, int chars) {
    int jvm = text.indexOf("\n\tat ");
    int trace = (jvm < 0 ? text : text.substring(0, jvm)).lastIndexOf(TRACEBACK);
    String raised = trace < 0 ? "" : raised(text.substring(trace + TRACEBACK.length()));
    int first = text.indexOf(TRACEBACK);
    return shortened(raised.isEmpty() ? text : text.substring(0, first) + raised + "\n" + text.substring(first), chars);
  }

  /** The line behind those that say where. */
  private static String raised(String trace) {
    String[] lines = trace.split("\n");
    for (int i = 0; i < lines.length; i++) {
      if (!lines[i].isEmpty() && !Character.isWhitespace(lines[i].charAt(0))) {
        return lines[i];
      }
    }
    return "";
  }

  public static String shortened(String text, int chars) {
    if (text.length() <= chars) {
      return text;
    }
    return text.substring(0, Character.isHighSurrogate(text.charAt(chars - 1)) ? chars - 1 : chars);
  }

  /** The shuffle that a stage writes, -1 where it writes none. */
  public static int shuffleOf(StageInfo stage) {
    Option shuffle = stage.shuffleDepId();
    return shuffle.isDefined() ? ((Number) shuffle.get()).intValue() : -1;
  }
}
