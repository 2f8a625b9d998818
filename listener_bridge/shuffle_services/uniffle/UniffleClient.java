package shufflelifecycle;

import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.shuffle.RssShuffleHandle;
import org.apache.spark.shuffle.RssShuffleManager;
import org.apache.spark.shuffle.RssSparkConfig;
import org.apache.spark.shuffle.RssSparkShuffleUtils;
import org.apache.uniffle.client.api.CoordinatorClient;
import org.apache.uniffle.client.api.ShuffleServerClient;
import org.apache.uniffle.client.factory.ShuffleServerClientFactory;
import org.apache.uniffle.client.request.RssGetShuffleAssignmentsRequest;
import org.apache.uniffle.client.request.RssGetShuffleResultForMultiPartRequest;
import org.apache.uniffle.client.request.RssUnregisterShuffleRequest;
import org.apache.uniffle.client.response.RssGetShuffleAssignmentsResponse;
import org.apache.uniffle.common.ShuffleServerInfo;
import org.apache.uniffle.common.rpc.StatusCode;
import org.apache.uniffle.common.util.BlockIdLayout;

/**
 * Uniffle's own client in the driver, as we use it: which servers a shuffle has, which others it could have, and how data
 * on a server are let go of. Clients 0.9.2 and 0.10.0; what differs between them is asked for by reflection.
 *
 * Some of its calls wait for ever for a server that hangs, others for a minute. Here none waits longer than `Silences` says.
 *
 * The servers of a shuffle stand in its handle, which the scheduler sends along with every task that writes or reads it.
 * Handles are found through the weak references that Spark's cleaner keeps; nothing here keeps one alive.
 */
public class UniffleClient {
  private static final String GRPC = "GRPC";
  private static final int PURGE_LIMIT_S = 10;
  private static final String TOLD = "handlerInfoBd";
  /** What a coordinator says that has no servers but those that were excluded; 0.9.2 and 0.10.0. */
  private static final String NO_SERVERS = "There isn't enough shuffle servers";
  private static final String UNREACHED = ".StatusRuntimeException";
  /** What a server says of an application that it does not know, or not any more: 0.10, 0.9. */
  private static final String[] FORGOTTEN = {"NO_REGISTER", "Can't get shuffle result for appId["};

  private final SparkContext context;
  private final RssShuffleManager manager;
  private final Map handles = new HashMap(); // app shuffle -> WeakReference of its handle
  private final Silences silences = new Silences();

  public UniffleClient(Object context, Object manager) {
    this.context = (SparkContext) context;
    this.manager = (RssShuffleManager) manager;
  }

  // ---- handles ----

  /** Null where no lineage names the shuffle any more, or it is not Uniffle's. */
  RssShuffleHandle handle(int shuffle) throws Exception {
    synchronized (handles) {
      RssShuffleHandle known = remembered(shuffle);
      if (known == null) {
        learn();
        known = remembered(shuffle);
      }
      return known;
    }
  }

  private RssShuffleHandle remembered(int shuffle) {
    WeakReference known = (WeakReference) handles.get(Integer.valueOf(shuffle));
    return known == null ? null : (RssShuffleHandle) known.get();
  }

  private void learn() throws Exception {
    handles.clear();
    if (!context.cleaner().isDefined()) {
      return;
    }
    Iterator it = ((Collection) Reflect.get(context.cleaner().get(), "referenceBuffer")).iterator();
    while (it.hasNext()) {
      Object kept = ((Reference) it.next()).get();
      if (kept instanceof ShuffleDependency && ((ShuffleDependency) kept).shuffleHandle() instanceof RssShuffleHandle) {
        ShuffleDependency dependency = (ShuffleDependency) kept;
        handles.put(Integer.valueOf(dependency.shuffleId()), new WeakReference(dependency.shuffleHandle()));
      }
    }
  }

  static UniffleHome homeOf(RssShuffleHandle handle) {
    return new UniffleHome(handle.getPartitionToServers(), null);
  }

  /** Where a handle says which servers it has; written to once already, with what was there, so that it can be. */
  static Field told(RssShuffleHandle handle) throws Exception {
    Field field = Reflect.field(handle, TOLD);
    field.set(handle, field.get(handle));
    return field;
  }

  // ---- servers ----

  /**
   * Servers for one more generation, none of which is in `not`; null where a coordinator says that there are none. Asked
   * once, without the client's retries, which would wait for minutes. Nothing is registered anywhere. Whatever else they
   * say, as one that is starting and has not heard of all servers yet, is no answer: it is thrown.
   */
  UniffleHome assign(RssShuffleHandle handle, Set not, long end) throws Exception {
    SparkConf conf = manager.getSparkConf();
    Set tags = RssSparkShuffleUtils.getAssignmentTags(conf);
    tags.add(GRPC);
    int partitions = handle.getDependency().partitioner().numPartitions();
    RssGetShuffleAssignmentsRequest request = new RssGetShuffleAssignmentsRequest(handle.getAppId(), handle.getShuffleId(),
        partitions, 1, 1, tags, RssSparkShuffleUtils.getRequiredShuffleServerNumber(conf),
        RssSparkShuffleUtils.estimateTaskConcurrency(conf), new HashSet(not));
    return assigned(coordinators().iterator(), request, end);
  }

  private UniffleHome assigned(Iterator coordinators, RssGetShuffleAssignmentsRequest request, long end) throws Exception {
    boolean hasNone = false;
    Exception problem = new IllegalStateException("the client knows no coordinator");
    while (coordinators.hasNext()) {
      try {
        RssGetShuffleAssignmentsResponse answer = ask((CoordinatorClient) coordinators.next(), request, end);
        if (answer.getStatusCode() == StatusCode.SUCCESS && !answer.getPartitionToServers().isEmpty()) {
          return new UniffleHome(answer.getPartitionToServers(), answer.getServerToPartitionRanges());
        }
        String said = String.valueOf(answer.getMessage());
        hasNone = hasNone || said.contains(NO_SERVERS);
        problem = new IllegalStateException("a coordinator answered " + answer.getStatusCode() + ": " + said);
      } catch (Exception silent) {
        hasNone = hasNone || String.valueOf(silent.getMessage()).contains(NO_SERVERS);
        problem = silent;
      }
    }
    if (!hasNone) {
      throw problem;
    }
    return null;
  }

  private RssGetShuffleAssignmentsResponse ask(CoordinatorClient coordinator, RssGetShuffleAssignmentsRequest request, long end)
      throws Exception {
    Patience patience = silences.ask(coordinator.getDesc(), Silences.limitMs(end));
    try {
      return coordinator.getShuffleAssignments(request);
    } catch (Exception refused) {
      throw patience.told(refused);
    } finally {
      patience.over();
    }
  }

  private List coordinators() throws Exception {
    Object writer = Reflect.get(manager, "shuffleWriteClient");
    try {
      return (List) Reflect.get(writer, "coordinatorClients"); // before 0.10
    } catch (NoSuchFieldException newer) {
      return (List) Reflect.get(Reflect.get(writer, "coordinatorClient"), "coordinatorClients");
    }
  }

  /** Has the servers expect the shuffle's data, and makes what executors are told. Harmless where it is not used. */
  void register(RssShuffleHandle handle, UniffleHome home, long end) throws Exception {
    Method register = method(manager.getClass(), "registerShuffleServers", 4);
    Object[] arguments = {handle.getAppId(), Integer.valueOf(handle.getShuffleId()), home.ranges, handle.getRemoteStorage()};
    Patience patience = silences.ask("one of " + home.servers().keySet(), Silences.limitMs(end));
    try {
      register.invoke(manager, arguments);
    } catch (InvocationTargetException refused) {
      throw patience.told(new IllegalStateException(String.valueOf(refused.getCause()), refused.getCause()));
    } finally {
      patience.over();
    }
    home.told = RssSparkShuffleUtils.broadcastShuffleHdlInfo(
        context, handle.getShuffleId(), home.partitions, handle.getRemoteStorage());
  }

  private static Method method(Class of, String name, int parameters) throws Exception {
    for (Class type = of; type != null; type = type.getSuperclass()) {
      Method[] methods = type.getDeclaredMethods();
      for (int i = 0; i < methods.length; i++) {
        if (methods[i].getName().equals(name) && methods[i].getParameterTypes().length == parameters) {
          methods[i].setAccessible(true);
          return methods[i];
        }
      }
    }
    throw new NoSuchMethodException(of.getName() + " has no method " + name + " with " + parameters + " parameters");
  }

  // ---- data on a server ----

  /** Has the server purge all that it keeps of the shuffle. It answers before it is done: ask `blocks`. */
  public void purge(String server, int shuffle) throws Exception {
    Patience patience = silences.ask(server, Silences.LIMIT_MS);
    try {
      client(server).unregisterShuffle(request(shuffle));
    } catch (Exception refused) {
      if (!isForgotten(refused)) {
        throw patience.told(refused, hasReachedNobody(refused));
      }
    } finally {
      patience.over();
    }
  }

  private RssUnregisterShuffleRequest request(int shuffle) throws Exception {
    Constructor made = RssUnregisterShuffleRequest.class.getConstructors()[0];
    Integer id = Integer.valueOf(shuffle);
    String application = manager.getAppId();
    boolean isLimited = made.getParameterTypes().length == 3; // since 0.10
    Object[] limited = {application, id, Integer.valueOf(PURGE_LIMIT_S)};
    return (RssUnregisterShuffleRequest) made.newInstance(isLimited ? limited : new Object[] {application, id});
  }

  /** How many blocks of the shuffle the server says that it has, in all of so many partitions. */
  public long blocks(String server, int shuffle, int partitions) throws Exception {
    return blocks(server, shuffle, all(partitions));
  }

  static Set all(int partitions) {
    Set all = new HashSet();
    for (int i = 0; i < partitions; i++) {
      all.add(Integer.valueOf(i));
    }
    return all;
  }

  /**
   * How many blocks of these partitions the server says that it has: 0 also where it has never heard of the shuffle. It sends
   * the number of each block, and has an error in its log for each partition that it does not have.
   */
  long blocks(String server, int shuffle, Set partitions) throws Exception {
    BlockIdLayout layout = (BlockIdLayout) Reflect.get(manager, "blockIdLayout");
    Patience patience = silences.ask(server, Silences.LIMIT_MS);
    try {
      Object answer = client(server).getShuffleResultForMultiPart(
          new RssGetShuffleResultForMultiPartRequest(manager.getAppId(), shuffle, partitions, layout));
      Object blocks = Reflect.call(answer, "getBlockIdBitmap"); // of a class that each jar renames for itself
      return ((Number) Reflect.call(blocks, "getLongCardinality")).longValue();
    } catch (Exception refused) {
      if (isForgotten(refused)) {
        return 0L;
      }
      throw patience.told(refused, hasReachedNobody(refused));
    } finally {
      patience.over();
    }
  }

  /** How often in a row it has not answered. */
  int silencesOf(String server) {
    return silences.times(server);
  }

  /** gRPC's own word, by its name, since each jar renames its class: what a server says comes as Uniffle's. */
  private static boolean hasReachedNobody(Exception refused) {
    return refused.getClass().getName().endsWith(UNREACHED);
  }

  private static boolean isForgotten(Exception refused) {
    String said = String.valueOf(refused.getMessage());
    return said.contains(FORGOTTEN[0]) || said.contains(FORGOTTEN[1]);
  }

  private ShuffleServerClient client(String server) {
    int colon = server.lastIndexOf(':');
    ShuffleServerInfo at = new ShuffleServerInfo(server.substring(0, colon), Integer.parseInt(server.substring(colon + 1)));
    return ShuffleServerClientFactory.getInstance()
        .getShuffleServerClient(GRPC, at, RssSparkConfig.toRssConf(manager.getSparkConf()));
  }
}
