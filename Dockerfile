# One image for Airflow's components, Spark's master and workers, and the command line: docker/entrypoint says which.
# `make image` builds it. It names no registry, needs no BuildKit, and leaves how the network is reached to whoever builds.

FROM debian:bookworm-slim AS base
# The certificates stay: an object store, a token endpoint or a broker may show one of a public authority.
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      ca-certificates openjdk-17-jre-headless python3 >/dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/log/dpkg.log /var/log/apt /var/log/alternatives.log \
      /usr/share/doc /usr/share/man /usr/share/locale

# Python packages by their hashes. Bytecode once, and never held against its source again: nothing writes into an image.
FROM base AS packages
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-pip python3-venv >/dev/null
WORKDIR /build
COPY requirements/uv.txt requirements/
RUN python3 -m venv uv && uv/bin/pip install -q --no-cache-dir --require-hashes -r requirements/uv.txt
COPY requirements/image.txt requirements/
RUN uv/bin/uv venv -q --python /usr/bin/python3 /opt/sluice/.venv \
 && PYC_INVALIDATION_MODE=UNCHECKED_HASH uv/bin/uv pip sync -q --no-cache --link-mode copy --python /opt/sluice/.venv/bin/python \
      --require-hashes --compile-bytecode requirements/image.txt

# Jars by their sums.
FROM base AS jars
RUN apt-get update -qq \
 && mkdir -p /usr/share/man/man1 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends maven >/dev/null
WORKDIR /opt/sluice
COPY pom.xml ./
COPY requirements/jars.sha256 requirements/
RUN mkdir -p jars/s3 && for part in $(sed -n 's|^ *<id>\(.*\)</id>$|\1|p' pom.xml | grep -v registry); do \
      said=$(mvn -q -B -ntp -P$part dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=/opt/sluice/jars/$part 2>&1) || { echo "$said"; exit 1; }; \
    done \
 && cd jars && sha256sum --check --quiet ../requirements/jars.sha256

# What the pages draw charts with: by npm, which pip brings.
FROM packages AS charts
COPY requirements/node.txt requirements/package.json requirements/package-lock.json requirements/
COPY local/npm.py local/
RUN mkdir -p spark_jobs/pages && python3 local/npm.py

# What runs, without the class-data archive.
FROM base AS runtime
RUN useradd --uid 1000 --home-dir /tmp --no-create-home --shell /usr/sbin/nologin sluice \
 # A named volume takes the mode of the folder that it is first laid over: docker-compose.yml, volumes.
 && install -d -m 1777 /data /data/root /data/logs /data/ledger /data/postgres /data/kafka /data/store
COPY --from=packages /opt/sluice/.venv /opt/sluice/.venv
COPY --from=jars /opt/sluice/jars/spark /opt/sluice/jars/spark
COPY --from=jars /opt/sluice/jars/s3 /opt/sluice/jars/s3
WORKDIR /opt/sluice
COPY spark_jobs spark_jobs
COPY plugins plugins
COPY dags dags
ENV PATH=/opt/sluice/.venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PYTHONPATH=/opt/sluice:/opt/sluice/plugins \
    PYTHONUNBUFFERED=1 \
    SPARK_HOME=/opt/sluice/.venv/lib/python3.11/site-packages/pyspark \
    AIRFLOW_HOME=/tmp/airflow \
    AIRFLOW__CORE__DAGS_FOLDER=/opt/sluice/dags \
    AIRFLOW__CORE__PLUGINS_FOLDER=/opt/sluice/plugins \
    AIRFLOW__CORE__LOAD_EXAMPLES=False \
    SLUICE_JARS=/opt/sluice/jars/spark \
    SLUICE_ROOT=/data/root \
    HOME=/tmp \
    TZ=UTC

# Bytecode for the Python of Spark's own processes, the classes of spark_jobs/java, and a drain of every pipeline, whose JVM writes down all classes that it loaded. It fits the
# class path that it is made with, jars in their order with their sizes and times: so it is made here, on the layers that runs have.
FROM runtime AS archive
COPY --from=jars /opt/sluice/jars jars
COPY local/*.py local/
RUN python -m local.pyspark_zip && python -m local.files_jar && python -m local.archive \
 && mkdir made zips && cp -p jars/spark/sluice-files.jar jars/spark/classes.jsa made/ && cp -p $SPARK_HOME/python/lib/*.zip zips/

FROM runtime
COPY --from=archive /opt/sluice/made jars/spark
COPY --from=archive /opt/sluice/zips .venv/lib/python3.11/site-packages/pyspark/python/lib
COPY --from=charts /build/spark_jobs/pages/uplot spark_jobs/pages/uplot
COPY local local
COPY docker docker
# A clone by a cautious umask has files for their owner alone, and COPY keeps that: the image's user, or any other, reads them.
RUN python -m compileall -q --invalidation-mode unchecked-hash spark_jobs plugins dags local \
 && chmod -R a+rX spark_jobs plugins dags local docker
ENV PATH=/opt/sluice/docker/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1
USER sluice
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Sluice" \
      org.opencontainers.image.description="Stateful streaming on a schedule: Kafka to Delta through Spark's stateful operators, run by Airflow" \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$REVISION \
      org.opencontainers.image.base.name="debian:bookworm-slim"
ENTRYPOINT ["/opt/sluice/docker/entrypoint"]
CMD ["sluice", "--help"]
