package org.apache.spark.sql.ml;

import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.SparkSessionExtensionsProvider;
import scala.runtime.BoxedUnit;

/**
 * In place of MLlib's class of this name, which stands behind it on the class path. Each session makes one.
 *
 * MLlib's gives Spark three functions between vectors and arrays, which only its own Scala and Python call, and no
 * SQL. For their types it starts Scala's reflection: 0.8 processor seconds of each application.
 */
public final class InternalFunctionRegistration implements SparkSessionExtensionsProvider {
  @Override
  public BoxedUnit apply(SparkSessionExtensions session) {
    return BoxedUnit.UNIT;
  }
}
