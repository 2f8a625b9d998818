package shufflelifecycle;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What SQL sessions hold, and no object of the program: temporary views, cached tables, streaming queries.
 *
 * Read from fields, without the monitors of the catalogs: Spark holds some of these while it asks a metastore.
 */
public class Sessions {
  private static final int ATTEMPTS = 16;

  private final Set sessions = Collections.newSetFromMap(new IdentityHashMap());

  /** Of the sessions of these objects, those of the streaming queries that run, and the default session. */
  public Sessions(Collection bound) {
    scala.Option first = org.apache.spark.sql.SparkSession.getDefaultSession();
    add(first.isDefined() ? first.get() : null);
    Iterator it = bound.iterator();
    while (it.hasNext()) {
      Object object = it.next();
      if (object instanceof org.apache.spark.sql.SparkSession) {
        add(object);
      } else if (object instanceof org.apache.spark.sql.Dataset) {
        add(Fields.get(Fields.get(object, "queryExecution"), "sparkSession"));
      }
    }
    it = streams().iterator();
    while (it.hasNext()) {
      add(Fields.get(it.next(), "sparkSessionForStream"));
    }
  }

  private void add(Object session) {
    if (session != null) {
      sessions.add(session);
    }
  }

  /** Arrays of two: a text for people, unique among all; the view's logical plan. */
  public List views() {
    ArrayList views = new ArrayList();
    Iterator it = sessions.iterator();
    while (it.hasNext()) {
      Object session = it.next();
      Object catalog = Fields.get(Fields.get(session, "sessionState"), "catalog");
      addViews(views, "temporary view `", "` of session " + Fields.get(session, "sessionUUID"), Fields.get(catalog, "tempViews"));
    }
    it = shared().iterator();
    while (it.hasNext()) {
      Object manager = Fields.get(it.next(), "globalTempViewManager");
      addViews(views, "global temporary view `", "`", Fields.get(manager, "viewDefinitions"));
    }
    return views;
  }

  private static void addViews(List to, String before, String after, Object definitions) {
    List entries = definitions == null ? Collections.EMPTY_LIST : stable((scala.collection.Map) definitions);
    for (int i = 0; i < entries.size(); i++) {
      scala.Tuple2 entry = (scala.Tuple2) entries.get(i);
      Object plan = Fields.get(entry._2(), "plan");
      if (plan instanceof scala.Option && ((scala.Option) plan).isDefined()) {
        to.add(new Object[] {before + entry._1() + after, ((scala.Option) plan).get()});
      }
    }
  }

  /** The entries of a map that others may be changing: read until nothing has changed meanwhile. */
  private static List stable(scala.collection.Map map) {
    for (int i = 0; i < ATTEMPTS; i++) {
      int before = map.size();
      List first = entriesOf(map);
      List second = entriesOf(map);
      if (first.size() == before && second.size() == before && map.size() == before) {
        return second;
      }
    }
    throw new IllegalStateException("the views of a session changed faster than they could be listed");
  }

  private static List entriesOf(scala.collection.Map map) {
    ArrayList entries = new ArrayList();
    scala.collection.Iterator it = map.iterator();
    while (it.hasNext()) {
      entries.add(it.next());
    }
    return entries;
  }

  /** The relations that stand for cached tables and DataFrames. */
  public List cachedTables() {
    ArrayList relations = new ArrayList();
    Iterator it = shared().iterator();
    while (it.hasNext()) {
      Object data = Fields.get(Fields.get(it.next(), "cacheManager"), "cachedData");
      scala.collection.Iterator each = data == null ? null : ((scala.collection.Iterable) data).iterator();
      while (each != null && each.hasNext()) {
        relations.add(Fields.get(each.next(), "cachedRepresentation"));
      }
    }
    return relations;
  }

  /** The streaming queries that run. */
  public List streams() {
    ArrayList streams = new ArrayList();
    Iterator it = shared().iterator();
    while (it.hasNext()) {
      Object active = Fields.get(it.next(), "activeStreamingQueries");
      if (active instanceof Map) {
        streams.addAll(((Map) active).values());
      }
    }
    return streams;
  }

  private Set shared() {
    Set states = Collections.newSetFromMap(new IdentityHashMap());
    Iterator it = sessions.iterator();
    while (it.hasNext()) {
      Object state = Fields.get(it.next(), "sharedState");
      if (state != null) {
        states.add(state);
      }
    }
    return states;
  }
}
