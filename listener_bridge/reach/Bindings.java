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
   * Id -> object.
   *
   * The program goes on meanwhile: it may bind an object made from another one, where we have been, and let go of that
   * other one, where we have not. So we read twice, and both times count, until nothing new was bound in between.
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
