"""Learning: DataFrames' and RDDs' libraries."""

from __future__ import annotations

import tempfile
from typing import Any

from tests.support.features.made import Step, orders, pairs, rows


def _points(spark: Any) -> Any:
    from pyspark.ml.feature import VectorAssembler

    sums = orders(spark, 800).groupBy("k", "v").count().selectExpr("k", "v", "count", "cast(k > 9 as double) as label")
    return VectorAssembler(inputCols=["k", "v", "count"], outputCol="features").transform(sums)


def a_pipeline_saved_and_loaded(spark: Any, step: Step) -> Any:
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import MinMaxScaler, StringIndexer

    points = _points(spark)
    scaler = MinMaxScaler(inputCol="features", outputCol="scaled")
    indexer = StringIndexer(inputCol="k", outputCol="index")
    regression = LogisticRegression(featuresCol="scaled", maxIter=3)
    model = Pipeline(stages=[scaler, indexer, regression]).fit(points)
    step()
    with tempfile.TemporaryDirectory() as folder:
        model.write().overwrite().save(f"{folder}/model")
        step()
        loaded = PipelineModel.load(f"{folder}/model")
        predicted = loaded.transform(points)
        first = rows(predicted.groupBy("prediction", "label").count())
        step()
        return first, model.transform(points).count()


def trees_and_their_evaluation(spark: Any, step: Step) -> Any:
    from pyspark.ml.classification import GBTClassifier, RandomForestClassifier
    from pyspark.ml.evaluation import BinaryClassificationEvaluator, MulticlassClassificationEvaluator

    train, test = _points(spark).randomSplit([0.7, 0.3], 7)
    found = []
    for learner in (RandomForestClassifier(numTrees=3, seed=1), GBTClassifier(maxIter=2, seed=1)):
        model = learner.fit(train)
        step()
        predicted = model.transform(test)
        found.append(round(MulticlassClassificationEvaluator(metricName="accuracy").evaluate(predicted), 6))
        step()
        found.append(round(BinaryClassificationEvaluator().evaluate(predicted), 6))
    return found


def clusters(spark: Any, step: Step) -> Any:
    from pyspark.ml.clustering import BisectingKMeans, GaussianMixture, KMeans

    points = _points(spark)
    found: list[Any] = []
    for learner in (KMeans(k=3, seed=1), BisectingKMeans(k=3, seed=1), GaussianMixture(k=2, seed=1, maxIter=3)):
        model = learner.fit(points)
        step()
        found.append(sorted(model.summary.clusterSizes))
        step()
        found.append(model.summary.predictions.count())
    return found


def recommendations(spark: Any, step: Step) -> Any:
    from pyspark.ml.recommendation import ALS

    ratings = orders(spark).selectExpr("int(k) as user", "int(v) as item", "float(v % 5) as rating").distinct()
    model = ALS(rank=3, maxIter=2, seed=1).fit(ratings)
    step()
    first = model.recommendForAllUsers(2).count()
    step()
    return first, model.transform(ratings).na.drop().count(), model.userFactors.count(), model.itemFactors.count()


def words_and_topics(spark: Any, step: Step) -> Any:
    from pyspark.ml.clustering import LDA
    from pyspark.ml.feature import IDF, CountVectorizer

    words = orders(spark).selectExpr("k", "concat('w', v) as w")
    texts = words.groupBy("k").agg({"w": "collect_list"}).toDF("k", "words")
    del words
    counted = CountVectorizer(inputCol="words", outputCol="counts").fit(texts).transform(texts)
    step()
    weighed = IDF(inputCol="counts", outputCol="features").fit(counted).transform(counted)
    step()
    model = LDA(k=2, maxIter=2, seed=1, optimizer="em").fit(weighed)
    step()
    return model.vocabSize(), model.describeTopics(2).count(), weighed.count(), model.isDistributed()


def searches_over_a_grid(spark: Any, step: Step) -> Any:
    from pyspark.ml.evaluation import RegressionEvaluator
    from pyspark.ml.regression import LinearRegression
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder, TrainValidationSplit

    points = _points(spark)
    regression = LinearRegression(maxIter=2)
    grid = ParamGridBuilder().addGrid(regression.regParam, [0.0, 0.1]).build()
    evaluator = RegressionEvaluator()
    settings: Any = {"estimator": regression, "estimatorParamMaps": grid, "evaluator": evaluator}
    crossed: Any = CrossValidator(numFolds=2, seed=1, parallelism=2, **settings).fit(points)
    step()
    split = TrainValidationSplit(seed=1, **settings).fit(points)
    step()
    return len(crossed.avgMetrics), len(split.validationMetrics), crossed.bestModel.summary.predictions.count()


def frequent_patterns(spark: Any, step: Step) -> Any:
    from pyspark.ml.fpm import FPGrowth

    baskets = orders(spark).filter("v < 8").groupBy("k").agg({"v": "collect_set"}).toDF("k", "items")
    model = FPGrowth(minSupport=0.2, minConfidence=0.5).fit(baskets)
    step()
    first = model.freqItemsets.count()
    step()
    return first, model.associationRules.count(), model.transform(baskets).count()


def correlations_and_tests(spark: Any, step: Step) -> Any:
    from pyspark.ml.stat import ChiSquareTest, Correlation, Summarizer

    points = _points(spark)
    ((matrix,),) = Correlation.corr(points, "features").collect()
    first = matrix.numRows
    step()
    (tested,) = ChiSquareTest.test(points, "features", "label").collect()
    second = len(tested.degreesOfFreedom)
    step()
    told = points.select(Summarizer.metrics("mean", "count").summary(points.features)).head()[0]
    return first, second, told["count"], [round(each, 6) for each in told["mean"]]


def neighbours_by_hashes(spark: Any, step: Step) -> Any:
    from pyspark.ml.feature import BucketedRandomProjectionLSH

    points = _points(spark)
    hashing = BucketedRandomProjectionLSH(inputCol="features", outputCol="hashes", bucketLength=4.0, seed=1)
    model = hashing.fit(points)
    step()
    near = model.approxSimilarityJoin(points, points, 2.0)
    first = near.count()
    step()
    key = points.orderBy("k", "v").head().features
    return first, model.approxNearestNeighbors(points, key, 3).count(), near.filter("distCol > 0").count()


def old_libraries_over_rdds(spark: Any, step: Step) -> Any:
    from pyspark.mllib.clustering import KMeans
    from pyspark.mllib.linalg import Vectors
    from pyspark.mllib.linalg.distributed import CoordinateMatrix, IndexedRowMatrix, MatrixEntry
    from pyspark.mllib.stat import Statistics

    sums = pairs(spark).groupByKey(3).mapValues(lambda vs: Vectors.dense(sum(vs), len(list(vs)))).sortByKey().values()
    model = KMeans.train(sums, 2, maxIterations=2, seed=1)
    step()
    first = sorted(model.predict(sums).countByValue().values())
    step()
    matrix = IndexedRowMatrix(sums.zipWithIndex().map(lambda pair: (pair[1], pair[0])))
    square = matrix.toBlockMatrix(4, 4).transpose().multiply(matrix.toBlockMatrix(4, 4))
    second = square.toLocalMatrix().numRows
    step()
    entries = CoordinateMatrix(pairs(spark).distinct().map(lambda p: MatrixEntry(p[0], p[1], 1.0)))
    return first, second, entries.toIndexedRowMatrix().rows.count(), Statistics.colStats(sums).count()
