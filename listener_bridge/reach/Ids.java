package shufflelifecycle;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.StringTokenizer;

/** An immutable set of app shuffles. Sorted, so that a union is a merge; a union that adds nothing gives the same object. */
public class Ids {
  public static final Ids NONE = new Ids(new int[0]);
  private final int[] sorted;

  private Ids(int[] sorted) {
    this.sorted = sorted;
  }

  public static Ids of(int id) {
    return new Ids(new int[] {id});
  }

  public static Ids of(Collection numbers) {
    int[] ids = new int[numbers.size()];
    int count = 0;
    Iterator it = numbers.iterator();
    while (it.hasNext()) {
      ids[count++] = ((Number) it.next()).intValue();
    }
    Arrays.sort(ids);
    return new Ids(ids);
  }

  /** From a text of numbers, separated by blanks. */
  public static Ids of(String numbers) {
    ArrayList ids = new ArrayList();
    StringTokenizer each = new StringTokenizer(numbers);
    while (each.hasMoreTokens()) {
      ids.add(Integer.valueOf(each.nextToken()));
    }
    return of(ids);
  }

  public boolean contains(int id) {
    return Arrays.binarySearch(sorted, id) >= 0;
  }

  public void addTo(Collection numbers) {
    for (int i = 0; i < sorted.length; i++) {
      numbers.add(Integer.valueOf(sorted[i]));
    }
  }

  public boolean isEmpty() {
    return sorted.length == 0;
  }

  /** The union. */
  public Ids and(Ids other) {
    if (other == this || holdsAllOf(other)) {
      return this;
    }
    return other.holdsAllOf(this) ? other : merged(other);
  }

  private boolean holdsAllOf(Ids other) {
    if (other.sorted.length > sorted.length) {
      return false;
    }
    for (int i = 0; i < other.sorted.length; i++) {
      if (!contains(other.sorted[i])) {
        return false;
      }
    }
    return true;
  }

  private Ids merged(Ids other) {
    int[] all = new int[sorted.length + other.sorted.length];
    int mine = 0;
    int theirs = 0;
    int count = 0;
    while (mine < sorted.length || theirs < other.sorted.length) {
      boolean takeMine = theirs == other.sorted.length || mine < sorted.length && sorted[mine] <= other.sorted[theirs];
      if (takeMine && theirs < other.sorted.length && sorted[mine] == other.sorted[theirs]) {
        theirs++;
      }
      all[count++] = takeMine ? sorted[mine++] : other.sorted[theirs++];
    }
    return new Ids(Arrays.copyOf(all, count));
  }

  public Ids without(Ids other) {
    int[] rest = new int[sorted.length];
    int count = 0;
    for (int i = 0; i < sorted.length; i++) {
      if (!other.contains(sorted[i])) {
        rest[count++] = sorted[i];
      }
    }
    return count == sorted.length ? this : new Ids(Arrays.copyOf(rest, count));
  }

  public String toString() {
    StringBuilder text = new StringBuilder("[");
    for (int i = 0; i < sorted.length; i++) {
      text.append(i == 0 ? "" : ",").append(sorted[i]);
    }
    return text.append(']').toString();
  }
}
