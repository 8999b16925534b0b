"""Settings, connections and jars."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class SettingInvalid(SluiceError):
    """An environment variable is missing or does not parse."""

    code, exit_status = "SETTING_INVALID", 12
    usual_remedy = "Set the variable that the line names."

    @reason(
        "{variable} gives Spark's JVM {name}={found} in place of {value}. Queries would give "
        "other results.",
        "Leave {name} out of it.",
    )
    def locale_overridden(
        self, variable: object, name: object, found: object, value: object
    ) -> None: ...

    @reason(
        "SLUICE_EXECUTOR_PYTHON is {given!r}. The part after # names no Python within the archive.",
        "Write for example environment.tar.gz#environment/bin/python.",
    )
    def no_python_in_archive(self, given: object) -> None: ...

    @reason(
        "SLUICE_EXECUTOR_PYTHON is {given!r}. {name!r} would replace a folder of the executors.",
        "After #, begin with a new folder: environment.tar.gz#environment/bin/python.",
    )
    def folder_replaced(self, given: object, name: object) -> None: ...

    @reason(
        "SLUICE_EXECUTOR_PYTHON is {given!r}. There is no file {archive}.",
        "Pack an environment as docs/deploy.md shows, or name a Python that the workers have.",
    )
    def archive_absent(self, given: object, archive: object) -> None: ...

    @reason(
        "SLUICE_PIPELINES is {package!r}: {error}. It is neither on the path, nor in {here} or a "
        "folder above that. One of another user, or in a folder that all share, is not taken.",
        "Set it to a Python package on the PYTHONPATH, or unset it. "
        "`sluice new NAME --into FOLDER` makes one.",
    )
    def package_absent(self, package: object, error: object, here: object) -> None: ...

    @reason(
        "SLUICE_DAG_PREFIX is {value!r}. An id of a DAG may begin with at most 60 letters, digits, "
        "- and _.",
        "Write for example orders_.",
    )
    def prefix_invalid(self, value: object) -> None: ...

    @reason(
        "SLUICE_CATALOG is {value!r}. It names no database of a Hive metastore.",
        "Write for example thrift://metastore.example:9083/sluice.",
    )
    def no_catalog(self, value: object) -> None: ...

    @reason(
        "SLUICE_SPARK_ENV is {folder}. `sluice install` has not made it, or not to its end.",
        "Run `sluice install {folder}`.",
    )
    def spark_env_unmade(self, folder: object) -> None: ...

    @reason(
        "{folder} has no {package}, and runs start there.",
        "Set SLUICE_SPARK_ENV to the folder that `sluice install` has made. If there is none yet, "
        "run `sluice install /opt/sluice` first.",
    )
    def spark_absent(self, folder: object, package: object) -> None: ...

    @reason(
        "SLUICE_SPARK_ENV is {folder!r}, which is another folder in each working folder.",
        "Write the whole path, from / on.",
    )
    def spark_env_relative(self, folder: object) -> None: ...

    @reason(
        "The pipelines' package lies in {folder}, beside a module {name!r}, which would hide "
        "Python's own from Spark.",
        "Move the package into a folder of its own, and name that in PYTHONPATH.",
    )
    def modules_hidden(self, folder: object, name: object) -> None: ...

    @reason(
        "The pipelines' package {package!r} has the name of a module of Python's own, which it "
        "would hide from Spark.",
        "Rename the package, and name it in SLUICE_PIPELINES.",
    )
    def package_hides(self, package: object) -> None: ...

    @reason(
        "SLUICE_SPARK_ENV is {folder}. It has Sluice {there}, and this process Sluice {here}.",
        "Run `sluice install {folder}` with Sluice {here}.",
    )
    def spark_env_version(self, folder: object, there: object, here: object) -> None: ...

    @reason(
        "{folder} is not this user's alone, and {risk}.",
        "Remove it, or set TMPDIR to a folder of your own.",
    )
    def folder_shared(self, folder: object, risk: object) -> None: ...

    @reason(
        "Spark has no room for its files in {folder}: {error}.",
        "Set TMPDIR or SPARK_LOCAL_DIRS to a folder to which this user may write.",
    )
    def scratch_unmade(self, folder: object, error: object) -> None: ...

    @reason(
        "The root is {root!r}. Spark and delta-rs read {part!r} in a path differently.",
        "Rename the folder, with all that is in it. The pipelines go on.",
    )
    def root_read_twofold(self, root: object, part: object) -> None: ...

    @reason(
        "The root is {root!r}. On a cluster, Spark does not read state in a folder with "
        "{part!r} in its path.",
        "Rename the folder, with all that is in it. The pipelines go on.",
    )
    def root_state_unreadable(self, root: object, part: object) -> None: ...

    @reason(
        "{home} has a character in its path that stops Spark from reading state.",
        "Set TMPDIR to a folder of letters and digits only.",
    )
    def temporary_state_unreadable(self, home: object) -> None: ...

    @reason(
        "{name} has keys in it. Logs and command lines show them.",
        "Remove the keys. docs/deploy.md says how to give them.",
    )
    def keys_in_endpoint(self, name: object) -> None: ...

    @reason(
        "{name} is {endpoint!r}, which is no URL.",
        "Write it for example as https://store.example:9000.",
    )
    def endpoint_no_url(self, name: object, endpoint: object) -> None: ...

    @reason(
        "SLUICE_S3_PATH_STYLE is {style!r}. It must be true or false.",
        "Unset it. It is then true where AWS_ENDPOINT_URL is set, and false for Amazon's S3.",
    )
    def path_style_unknown(self, style: object) -> None: ...

    @reason(
        "{name} has keys in it. Logs and tables show them.",
        "Remove the keys. docs/deploy.md says how to give them.",
    )
    def keys_in_root(self, name: object) -> None: ...

    @reason(
        "{name} is {given!r}. It names no bucket.",
        "Write it for example as s3://bucket/prefix.",
    )
    def no_bucket(self, name: object, given: object) -> None: ...

    @reason(
        "{name} is {given!r}. Its clients read the part {part!r} differently.",
        "Use only ASCII letters, digits and . _ = - between single slashes.",
    )
    def part_odd(self, name: object, given: object, part: object) -> None: ...

    @reason(
        "{name} is not set. It must be {about}.",
        "Set it, or name one in the spec. In a clone `make up` starts a local Kafka and prints it.",
    )
    def absent(self, name: object, about: object) -> None: ...

    @reason(
        "A topic is of the cluster {cluster!r}. Nothing says which brokers that has.",
        "Set {variable} or {file}, or make Airflow's connection {connection}; or correct the "
        "topic's cluster.",
    )
    def cluster_unknown(
        self, cluster: object, variable: object, file: object, connection: object
    ) -> None: ...

    @reason(
        "A pipeline has the root {root!r}. Nothing says where that is.",
        "Set {variable} to its folder or URL; Airflow's connection {connection} may have a store's "
        "keys. Or correct the pipeline's root.",
    )
    def root_unknown(self, root: object, variable: object, connection: object) -> None: ...

    @reason(
        "{source} holds a secret, and {exposed}.",
        "chmod 600 {path}",
    )
    def secret_exposed(self, source: object, exposed: object, path: object) -> None: ...

    @reason(
        "{source} is empty.",
        "Write the secret of Spark's master and workers into it.",
    )
    def secret_empty(self, source: object) -> None: ...

    @reason(
        "{name} is {value!r}. It must be {choices}.",
        "Unset it for {default}; {why}.",
    )
    def choice_unknown(
        self, name: object, value: object, choices: object, default: object, why: object
    ) -> None: ...

    @reason(
        "SLUICE_REJECTED_DAYS is {rejected}, more than SLUICE_HISTORY_DAYS ({history}). "
        "ops.batches has the time of a rejection, and is not kept that long.",
        "Set SLUICE_REJECTED_DAYS to forever, or to at most SLUICE_HISTORY_DAYS.",
    )
    def rejected_days_too_many(self, rejected: object, history: object) -> None: ...

    @reason(
        "SLUICE_MAINTAIN_CRON is {value!r}: {why}.",
        "Unset it for weekly, or set it to {never}.",
    )
    def cron_invalid(self, value: object, why: object, never: object) -> None: ...

    @reason(
        "{name} is {value!r}. It must be a whole number greater than 0.",
        "Unset it for {default}.",
    )
    def not_positive(self, name: object, value: object, default: object) -> None: ...

    @reason(
        "{name} is {value!r}. It must be a whole number of seconds greater than 0.",
        "Unset it for 120.",
    )
    def seconds_not_positive(self, name: object, value: object) -> None: ...

    @reason(
        "{source} cannot be read: {error}.",
        "Name a readable file with the secret of Spark's master and workers.",
    )
    def secret_unreadable(self, source: object, error: object) -> None: ...

    @reason(
        "{name} is {value!r}. It must be a whole number of days greater than 0, or {forever}.",
        "Unset it for {default}.",
    )
    def days_invalid(
        self, name: object, value: object, forever: object, default: object
    ) -> None: ...

    @reason(
        "{name} is {given!r}. {server!r} is not host:port.",
        "Set it to the bootstrap servers, without a scheme: for example 127.0.0.1:9092.",
    )
    def server_invalid(self, name: object, given: object, server: object) -> None: ...

    @reason(
        "{name} has a user before {server!r}, perhaps with a password. No client of Kafka takes "
        "one there.",
        "Write host:port. Declare user and password in the file of SLUICE_KAFKA_CONFIG, or in "
        "Airflow's connection: sasl.username, sasl.password.",
    )
    def user_before_server(self, name: object, server: object) -> None: ...

    @reason(
        "{source} has {shown}: {why}.",
        "{remedy}.",
    )
    def option_refused(
        self, source: object, shown: object, why: object, remedy: object
    ) -> None: ...

    @reason(
        "{source} cannot be read: {error}.",
        "Close the quotation marks.",
    )
    def options_unreadable(self, source: object, error: object) -> None: ...

    @reason(
        "{source} has {word!r}, which is not name=value.",
        "Write for example 'spark.executor.memory=2g spark.cores.max=8'.",
    )
    def option_no_pair(self, source: object, word: object) -> None: ...

    @reason(
        "{source} has type {kind!r}. An object store's connection has type aws.",
        "Set its type to aws.",
    )
    def not_an_aws_connection(self, source: object, kind: object) -> None: ...

    @reason(
        "{source} has {first} in extra. It would have no effect.",
        "Extra can have {known}. Set a role or profile on the machine.",
    )
    def extra_unknown(self, source: object, first: object, known: object) -> None: ...

    @reason(
        "{source} has {lacking}.",
        "Give both, as login and password. Give neither to use the machine's keys.",
    )
    def half_a_key(self, source: object, lacking: object) -> None: ...

    @reason(
        "Connection {conn_id!r}: conf in its extra is {kind}. It must be an object.",
        'Write for example {{"conf": {{"spark.executor.memory": "2g"}}}}.',
    )
    def conf_no_object(self, conn_id: object, kind: object) -> None: ...

    @reason(
        "Connection {connection!r} lacks to or from_email in extra.",
        "Give both, as addresses.",
    )
    def mail_incomplete(self, connection: object) -> None: ...

    @reason(
        "Connection {connection!r} has form {form!r} in extra.",
        "Give {known}.",
    )
    def webhook_form_unknown(self, connection: object, form: object, known: object) -> None: ...

    @reason(
        "The executors' Python is missing, or Sluice cannot use it{detail}.",
        "Correct SLUICE_EXECUTOR_PYTHON, or install in that Python what docs/deploy.md lists.",
    )
    def executor_python(self, detail: object) -> None: ...

    @reason(
        "The executors lack one of Sluice's jars, the one with the class{detail}.",
        "Put every jar of SLUICE_JARS into the folder SLUICE_EXECUTOR_JARS of every worker. Or "
        "unset SLUICE_EXECUTOR_JARS.",
    )
    def executor_jar_absent(self, detail: object) -> None: ...


class JarsMissing(SluiceError):
    """The jars that pyspark does not ship are not in `SLUICE_JARS`, or are old."""

    code, exit_status = "JARS_MISSING", 14
    usual_remedy = "Run `sluice install` (a clone: `make setup`), or correct `SLUICE_JARS`."

    @reason(
        "{jars} does not hold the jars of Delta and Kafka for Spark.",
        "Run `sluice install` (in a clone `make setup`), or point SLUICE_JARS at them.",
    )
    def kafka_jars_absent(self, jars: object) -> None: ...

    @reason(
        "{jars} and {files_jar} do not hold what a root on S3 needs.",
        "Run `sluice install` (in a clone `make setup`), or point SLUICE_JARS at a folder that has "
        "both, and `s3` beside it.",
    )
    def s3_jars_absent(self, jars: object, files_jar: object) -> None: ...

    @reason(
        "Spark's Kafka reader cannot read topic {topic}, partition {partition}, offset {offset}: "
        "its Kafka timestamp is {timestamp}. Sluice's reader can, but sluice-files.jar is "
        "missing or old.",
        "Run `sluice install` (a clone: `python -m local.files_jar`). The next run resumes.",
    )
    def timestamp_unreadable(
        self, topic: object, partition: object, offset: object, timestamp: object
    ) -> None: ...

    @reason(
        "sluice-files.jar is missing or old: a run of topic {topic} cannot end between two "
        "transactions.",
        "Run `sluice install` (a clone: `python -m local.files_jar`). The next run resumes.",
    )
    def no_end_between(self, topic: object) -> None: ...

    @reason(
        "sluice-files.jar is of another Sluice. On S3 a run that has lost its lease could commit.",
        "Run `sluice install` (a clone: `python -m local.files_jar && python -m local.archive`). "
        "The next run resumes.",
    )
    def files_jar_stale(self) -> None: ...

    @reason(
        "The folder {folder} does not exist.",
        "Run `sluice install` (in a clone `make setup`), or point SLUICE_JARS at the jars.",
    )
    def jars_folder_absent(self, folder: object) -> None: ...


class InstallFailed(SluiceError):
    """`sluice install` has not made an environment."""

    code, exit_status = "INSTALL_FAILED", 18
    usual_remedy = "Mend what the line names, and run the command again."

    @reason(
        "{folder} has files, and `sluice install` has not made it.",
        "Name a new folder, or remove that one.",
    )
    def folder_used(self, folder: object) -> None: ...

    @reason(
        "{folder} has a space in its path. Options of Spark's JVM end there.",
        "Name a folder without one.",
    )
    def folder_spaced(self, folder: object) -> None: ...

    @reason(
        "{python} is Python {found}. Sluice needs one of {wanted}.",
        "Name another: `--python python3.12`.",
    )
    def python_unfit(self, python: object, found: object, wanted: object) -> None: ...

    @reason(
        "There is no `mvn` on the PATH, which fetches the jars.",
        "Install Maven. Debian and Ubuntu: apt-get install maven.",
    )
    def maven_absent(self) -> None: ...

    @reason(
        "Java is {found}. Spark needs Java {wanted}.",
        "Install it, or let JAVA_HOME name it. Debian: apt-get install openjdk-17-jre-headless.",
    )
    def java_unfit(self, found: object, wanted: object) -> None: ...

    @reason("{what} failed: {said}")
    def step_failed(self, what: object, said: object) -> None: ...

    @reason(
        "{jar} has the SHA-256 sum {found}, and not {wanted}.",
        "Remove it from Maven's local repository, and ask whose copy that is.",
    )
    def jar_differs(self, jar: object, found: object, wanted: object) -> None: ...


class ConnectionMissing(SluiceError):
    """Airflow has no connection with the given id, or the connection names no Spark master."""

    code, exit_status = "CONNECTION_MISSING", 60
    usual_remedy = "Define the connection that the line names."

    @reason(
        "Connection {conn_id!r} has type {kind!r} and host {host!r}. It needs type 'spark', and "
        "Spark's master as host.",
        "{remedy}",
    )
    def no_master(self, conn_id: object, kind: object, host: object, remedy: object) -> None: ...

    @reason(
        "Airflow has no connection {conn_id!r}.",
        "{remedy}",
    )
    def connection_absent(self, conn_id: object, remedy: object) -> None: ...
