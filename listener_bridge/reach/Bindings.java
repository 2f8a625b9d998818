package shufflelifecycle;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import py4j.Gateway;
import py4j.GatewayServer;

/** The JVM objects that py4j holds for the program. */
public class Bindings {
  private static final int ATTEMPTS = 8;

  private final Gateway gateway;
  private final AtomicInteger counter; // of objects ever bound

  public Bindings(Object server) throws Exception {
    this.gateway = ((GatewayServer) server).getGateway();
    Field field = Gateway.class.getDeclaredField("objCounter");
    field.setAccessible(true);
    this.counter = (AtomicInteger) field.get(gateway);
  }

  /**
   * All of them: py4j's id -> object.
   *
   * The program goes on meanwhile. It may bind a new object in a part of the table that was read already, and let go of
   * the one that it was made from in a part that was not: then neither would be seen. So the table is read twice, both
   * readings count, and that is repeated until no object was bound in between.
   */
  public Map read() {
    Map all = new HashMap();
    for (int i = 0; i < ATTEMPTS; i++) {
      int before = counter.get();
      all.putAll(gateway.getBindings());
      all.putAll(gateway.getBindings());
      if (counter.get() == before) {
        return all;
      }
    }
    throw new IllegalStateException("the program bound new objects faster than they could be listed");
  }
}
