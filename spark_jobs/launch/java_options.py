"""Java options: with which a run's JVM starts."""

from __future__ import annotations

import os
from pathlib import Path

from spark_jobs.settings.installation import Settings
from spark_jobs.values import pinned as language

PACKAGE = Path(__file__).parents[1]
FEW_RECORDS = 100_000
"""Up to so many records, making a query costs its stage more than computing them."""
C2_MIN_RECORDS = 3_000_000
"""From this many records on, the JVM's optimizing compiler (C2) saves more time than it takes."""
FIRST_COMPILER = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m")
"""The JVM's first compiler alone, with as much room for its code as both have.

It has 48 MB otherwise. Some hundred queries of one session fill them; the JVM then throws code away
and compiles it again without end (seen: 28 % of the processor seconds of 150 drains, each of them
slower than the one before).
"""
SMALL_HEAP = ("-XX:MaxNewSize=240m",)
"""For a run of few records. What lives in it are 90 MB, and the JVM would let its heap grow to
900 MB before it looks: 1.3 GB for all processes instead of 1.2.
"""
ARCHIVE = "classes.jsa"
"""The JVM's class-data archive (CDS)."""


def archive(settings: Settings) -> Path:
    """The path of the JVM's class-data archive, which `make setup` writes. Runs work without it."""
    return settings.jars / ARCHIVE


def java_options(settings: Settings, records: int, *, archived: bool) -> list[str]:
    """Seconds below are processor seconds of a drain on two busy cores, one or two runs each;
    bench/NOTES.md has them.
    """
    options = [
        f"-Dlog4j2.configurationFile=file:{PACKAGE / 'conf' / 'log4j2.properties'}",
        f"-Dsluice.log={'error' if os.environ.get('SLUICE_TRACEBACK') else 'off'}",
        *language.java_options(),
        "-XX:+UseParallelGC",
        "-XX:-UsePerfData",
        # or the JVM collects its whole heap as classes come, to see whether it needs some no more:
        # 15.4 seconds of a delivery of 20,000 instead of 14.9
        "-XX:MetaspaceSize=192m",
        # or only the query's thread dies, and the driver waits for it without end
        "-XX:+ExitOnOutOfMemoryError",
        # or netty starts the JVM's flight recorder for events that nobody reads
        "-Dio.netty.jfr.enabled=false",
    ]
    options += settings.kafka_config.java_options()
    if records < C2_MIN_RECORDS:
        # Only the first compiler (C1): 42 seconds instead of 57 to 64 for 144,000 records, 65
        # instead of 85 for a million.
        options += FIRST_COMPILER
    if 0 < records <= FEW_RECORDS:
        options += SMALL_HEAP
    if archived and archive(settings).exists():
        # Classes as they are in memory, not read from jars and verified: 32 seconds instead of 43
        # for 144,000 records.
        options += archived_options(archive(settings))
    return options


def archived_options(path: Path) -> list[str]:
    """The JVM silently ignores an archive that does not exist or does not fit the JVM or
    the jars.
    """
    return [f"-XX:SharedArchiveFile={path}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
