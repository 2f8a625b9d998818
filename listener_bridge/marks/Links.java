package shufflelifecycle;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** What was made from what, to be asked from either end. Not synchronized. */
class Links {
  private final Map inputs = new HashMap(); // what was made -> Set of what it was made from
  private final Map products = new HashMap(); // the other way round: what was read -> Set of what was made from it

  /** The product was made from these, and from whatever was said before. None is said too: the product is known then. */
  void add(Integer product, Set from) {
    of(inputs, product).addAll(from);
    for (Iterator it = from.iterator(); it.hasNext();) {
      of(products, it.next()).add(product);
    }
  }

  boolean knows(Object product) {
    return inputs.containsKey(product);
  }

  /** All products that are known. Not to be changed. */
  Set known() {
    return inputs.keySet();
  }

  /** What it was made from; empty where nothing is known. Not to be changed. */
  Set inputsOf(Object product) {
    return known(inputs, product);
  }

  /** What was made from it. Not to be changed. */
  Set madeFrom(Object input) {
    return known(products, input);
  }

  void forgetProduct(Integer product) {
    for (Iterator it = inputsOf(product).iterator(); it.hasNext();) {
      remove(products, it.next(), product);
    }
    inputs.remove(product);
  }

  void forgetInput(Integer input) {
    for (Iterator it = madeFrom(input).iterator(); it.hasNext();) {
      remove(inputs, it.next(), input);
    }
    products.remove(input);
  }

  private static Set known(Map some, Object key) {
    Set known = (Set) some.get(key);
    return known == null ? new TreeSet() : known;
  }

  private static Set of(Map some, Object key) {
    Set known = (Set) some.get(key);
    if (known == null) {
      known = new TreeSet();
      some.put(key, known);
    }
    return known;
  }

  private static void remove(Map some, Object key, Object value) {
    Set known = (Set) some.get(key);
    if (known != null) {
      known.remove(value);
    }
  }
}
