"""Settings, connections and jars."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class SettingInvalid(SluiceError):
    """An environment variable is missing or does not parse."""

    code, exit_status = "SETTING_INVALID", 12
    usual_remedy = "Set the variable that the line names."

    locale_overridden = reason(
        "{variable} gives Spark's JVM {name}={found} in place of {value}. Queries would give "
        "other results.",
        "Leave {name} out of it.",
    )
    no_python_in_archive = reason(
        "SLUICE_EXECUTOR_PYTHON is {given!r}. The part after # names no Python within the archive.",
        "Write for example environment.tar.gz#environment/bin/python.",
    )
    folder_replaced = reason(
        "SLUICE_EXECUTOR_PYTHON is {given!r}. {name!r} would replace a folder of the executors.",
        "After #, begin with a new folder: environment.tar.gz#environment/bin/python.",
    )
    archive_absent = reason(
        "SLUICE_EXECUTOR_PYTHON is {given!r}. There is no file {archive}.",
        "Pack an environment as docs/deploy.md shows, or name a Python that the workers have.",
    )
    package_absent = reason(
        "SLUICE_PIPELINES is {package!r}: {error}. It is neither on the path, nor in {here} or a "
        "folder above that. One of another user, or in a folder that all share, is not taken.",
        "Set it to a Python package on the PYTHONPATH, or unset it. "
        "`sluice new NAME --into FOLDER` makes one.",
    )
    prefix_invalid = reason(
        "SLUICE_DAG_PREFIX is {value!r}. An id of a DAG may begin with at most 60 letters, digits, "
        "- and _.",
        "Write for example orders_.",
    )
    no_catalog = reason(
        "SLUICE_CATALOG is {value!r}. It names no database of a Hive metastore.",
        "Write for example thrift://metastore.example:9083/sluice.",
    )
    spark_env_unmade = reason(
        "SLUICE_SPARK_ENV is {folder}. `sluice install` has not made it, or not to its end.",
        "Run `sluice install {folder}`.",
    )
    spark_absent = reason(
        "{folder} has no {package}, and runs start there.",
        "Set SLUICE_SPARK_ENV to the folder that `sluice install` has made. If there is none yet, "
        "run `sluice install /opt/sluice` first.",
    )
    spark_env_relative = reason(
        "SLUICE_SPARK_ENV is {folder!r}, which is another folder in each working folder.",
        "Write the whole path, from / on.",
    )
    modules_hidden = reason(
        "The pipelines' package lies in {folder}, beside a module {name!r}, which would hide "
        "Python's own from Spark.",
        "Move the package into a folder of its own, and name that in PYTHONPATH.",
    )
    package_hides = reason(
        "The pipelines' package {package!r} has the name of a module of Python's own, which it "
        "would hide from Spark.",
        "Rename the package, and name it in SLUICE_PIPELINES.",
    )
    spark_env_version = reason(
        "SLUICE_SPARK_ENV is {folder}. It has Sluice {there}, and this process Sluice {here}.",
        "Run `sluice install {folder}` with Sluice {here}.",
    )
    folder_shared = reason(
        "{folder} is not this user's alone, and {risk}.",
        "Remove it, or set TMPDIR to a folder of your own.",
    )
    scratch_unmade = reason(
        "Spark has no room for its files in {folder}: {error}.",
        "Set TMPDIR or SPARK_LOCAL_DIRS to a folder to which this user may write.",
    )
    root_read_twofold = reason(
        "The root is {root!r}. Spark and delta-rs read {part!r} in a path differently.",
        "Rename the folder, with all that is in it. The pipelines go on.",
    )
    root_state_unreadable = reason(
        "The root is {root!r}. On a cluster, Spark does not read state in a folder with "
        "{part!r} in its path.",
        "Rename the folder, with all that is in it. The pipelines go on.",
    )
    temporary_state_unreadable = reason(
        "{home} has a character in its path that stops Spark from reading state.",
        "Set TMPDIR to a folder of letters and digits only.",
    )
    keys_in_endpoint = reason(
        "{name} has keys in it. Logs and command lines show them.",
        "Remove the keys. docs/deploy.md says how to give them.",
    )
    endpoint_no_url = reason(
        "{name} is {endpoint!r}, which is no URL.",
        "Write it for example as https://store.example:9000.",
    )
    path_style_unknown = reason(
        "SLUICE_S3_PATH_STYLE is {style!r}. It must be true or false.",
        "Unset it. It is then true where AWS_ENDPOINT_URL is set, and false for Amazon's S3.",
    )
    keys_in_root = reason(
        "{name} has keys in it. Logs and tables show them.",
        "Remove the keys. docs/deploy.md says how to give them.",
    )
    no_bucket = reason(
        "{name} is {given!r}. It names no bucket.", "Write it for example as s3://bucket/prefix."
    )
    part_odd = reason(
        "{name} is {given!r}. Its clients read the part {part!r} differently.",
        "Use only ASCII letters, digits and . _ = - between single slashes.",
    )
    absent = reason(
        "{name} is not set. It must be {about}.",
        "Set it, or write it into sluice.toml, which `sluice init` makes. In a clone `make up` "
        "starts a local Kafka and prints it.",
    )
    no_project = reason(
        "SLUICE_PROJECT is {folder}. There is no {file}.",
        "Name the folder of a project. `sluice init {folder}` makes one.",
    )
    project_there = reason(
        "{path} is there. A project is written into a folder without one.",
        "Name another folder, or remove it.",
    )
    project_unreadable = reason("{file} cannot be read: {error}.", "Write it as TOML.")
    environment_unknown = reason(
        "{file} has no environment {environment!r}. It has {known}.",
        "Name one of these in SLUICE_ENV or by --env, or add the table [{environment}].",
    )
    project_unwritten = reason(
        "No project can be written into {folder}: {error}.", "Name a folder of your own."
    )
    key_unknown = reason("{file}: {at} is no setting.", "{near}")
    home_unknown = reason(
        "{file}: {at} is {given!r}. Nobody knows that home folder.", "Write the whole path."
    )
    value_no_text = reason(
        "{file}: {at} is {given}. A setting is text.", 'Write {key} = "{right}".'
    )
    secret_in_project = reason(
        "{file}: {at} is, or has, a secret in clear. The file goes into a repository.",
        "Write the secret into a file that only its owner can read, and name that: kafka_config, "
        "spark_secret_file. A store's keys: docs/deploy.md.",
    )
    cluster_unknown = reason(
        "A topic is of the cluster {cluster!r}. Nothing says which brokers that has.",
        "Set {variable} or {file}, or make Airflow's connection {connection}; or correct the "
        "topic's cluster.",
    )
    root_unknown = reason(
        "A pipeline has the root {root!r}. Nothing says where that is.",
        "Set {variable} to its folder or URL; Airflow's connection {connection} may have a store's "
        "keys. Or correct the pipeline's root.",
    )
    secret_exposed = reason("{source} holds a secret, and {exposed}.", "chmod 600 {path}")
    secret_empty = reason(
        "{source} is empty.", "Write the secret of Spark's master and workers into it."
    )
    choice_unknown = reason(
        "{name} is {value!r}. It must be {choices}.", "Unset it for {default}; {why}."
    )
    rejected_days_too_many = reason(
        "SLUICE_REJECTED_DAYS is {rejected}, more than SLUICE_HISTORY_DAYS ({history}). "
        "ops.batches has the time of a rejection, and is not kept that long.",
        "Set SLUICE_REJECTED_DAYS to forever, or to at most SLUICE_HISTORY_DAYS.",
    )
    cron_invalid = reason(
        "SLUICE_MAINTAIN_CRON is {value!r}: {why}.", "Unset it for weekly, or set it to {never}."
    )
    share_invalid = reason(
        "SLUICE_PROOF is {value!r}. It must be a share, such as 5 %, or off.", "Unset it for off."
    )
    not_positive = reason(
        "{name} is {value!r}. It must be a whole number greater than 0.", "Unset it for {default}."
    )
    seconds_not_positive = reason(
        "{name} is {value!r}. It must be a whole number of seconds greater than 0.",
        "Unset it for 120.",
    )
    secret_unreadable = reason(
        "{source} cannot be read: {error}.",
        "Name a readable file with the secret of Spark's master and workers.",
    )
    days_invalid = reason(
        "{name} is {value!r}. It must be a whole number of days greater than 0, or {forever}.",
        "Unset it for {default}.",
    )
    server_invalid = reason(
        "{name} is {given!r}. {server!r} is not host:port.",
        "Set it to the bootstrap servers, without a scheme: for example 127.0.0.1:9092.",
    )
    user_before_server = reason(
        "{name} has a user before {server!r}, perhaps with a password. No client of Kafka takes "
        "one there.",
        "Write host:port. Declare user and password in the file of SLUICE_KAFKA_CONFIG, or in "
        "Airflow's connection: sasl.username, sasl.password.",
    )
    option_refused = reason("{source} has {shown}: {why}.", "{remedy}.")
    options_unreadable = reason("{source} cannot be read: {error}.", "Close the quotation marks.")
    option_no_pair = reason(
        "{source} has {word!r}, which is not name=value.",
        "Write for example 'spark.executor.memory=2g spark.cores.max=8'.",
    )
    not_an_aws_connection = reason(
        "{source} has type {kind!r}. An object store's connection has type aws.",
        "Set its type to aws.",
    )
    extra_unknown = reason(
        "{source} has {first} in extra. It would have no effect.",
        "Extra can have {known}. Set a role or profile on the machine.",
    )
    half_a_key = reason(
        "{source} has {lacking}.",
        "Give both, as login and password. Give neither to use the machine's keys.",
    )
    conf_no_object = reason(
        "Connection {conn_id!r}: conf in its extra is {kind}. It must be an object.",
        'Write for example {{"conf": {{"spark.executor.memory": "2g"}}}}.',
    )
    mail_incomplete = reason(
        "Connection {connection!r} lacks to or from_email in extra.", "Give both, as addresses."
    )
    webhook_form_unknown = reason(
        "Connection {connection!r} has form {form!r} in extra.", "Give {known}."
    )
    executor_python = reason(
        "The executors' Python is missing, or Sluice cannot use it{detail}.",
        "Correct SLUICE_EXECUTOR_PYTHON, or install in that Python what docs/deploy.md lists.",
    )
    executor_jar_absent = reason(
        "The executors lack one of Sluice's jars, the one with the class{detail}.",
        "Put every jar of SLUICE_JARS into the folder SLUICE_EXECUTOR_JARS of every worker. Or "
        "unset SLUICE_EXECUTOR_JARS.",
    )
