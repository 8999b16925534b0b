"""The datasets of a pipeline: its topic, its tables, and the ops tables with rejected records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    column_lineage_dataset as lineage,
    dataset_version_dataset as versions,
    input_statistics_input_dataset as read_rows,
    output_statistics_output_dataset as written_rows,
    schema_dataset as schema,
    storage_dataset as storage,
    symlinks_dataset as symlinks,
)

from sluice_airflow.lineage.facets import OFFSETS, OffsetsFacet
from sluice_airflow.lineage.names import Name, table_name, topic_name
from spark_jobs.checkpoint.notes.live import with_known_topics
from spark_jobs.registry import archive_spec, find as registry
from spark_jobs.settings.roots import root_of
from spark_jobs.side.place import place_of
from spark_jobs.source.positions import Positions
from spark_jobs.spec.analysis.columns import origins_of
from spark_jobs.spec.columns import Origin, Origins
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from openlineage.client.generated.base import DatasetFacet

    from spark_jobs.messages.report import Report
    from spark_jobs.spec import Pipeline, Topic
    from spark_jobs.spec.side import SideTable

SUBTYPES = {
    "identity": "IDENTITY",
    "transformation": "TRANSFORMATION",
    "aggregation": "AGGREGATION",
}
"""An origin's `how` -> OpenLineage's name of a direct transformation."""


def _read(topic: Topic, root: str, brokers: str) -> Name:
    if topic.of_kafka:
        return topic_name(brokers, topic.name)
    [place] = [place_of(each, root) for each in topic.beside] or [topic.lies]
    return table_name(place)


def _version(version: int | str | None) -> dict[str, DatasetFacet]:
    if version is None:
        return {}
    return {"version": versions.DatasetVersionDatasetFacet(datasetVersion=str(version))}


class Datasets:
    """A pipeline's datasets. `brokers` may be empty where the task does not know them."""

    def __init__(self, spec: Pipeline, root: str, brokers: str = "") -> None:
        paths, spec = Paths(root, spec), with_known_topics(spec, root)
        self._spec, self._root = spec, root
        self._topics = [
            _read(each, root, brokers) for each in spec.inputs if brokers or not each.of_kafka
        ]
        self._table = table_name(str(paths.table))
        self._published = table_name(str(paths.published_table))
        self._stagings = table_name(str(paths.stagings))
        self._late = table_name(str(paths.ops("late")))
        self._quarantine = table_name(str(paths.ops("quarantine")))

    def topic(self, report: Report | None) -> list[InputDataset]:
        """The topic, or several, with the offsets that were read, and the tables beside; nothing
        where the brokers are not known.
        """
        read = [self._input(n, name, report) for n, name in enumerate(self._topics)]
        beside = (each for step in self._spec.steps for each in step.sides)
        placed = (each for each in beside if each.pipeline or each.lies)
        return read + [self._beside(each, report) for each in placed if read]

    def _beside(self, table: SideTable, report: Report | None) -> InputDataset:
        shape: DatasetFacet = schema.SchemaDatasetFacet(
            fields=[
                schema.SchemaDatasetFacetFields(name=name, type=kind or "timestamp")
                for name, kind in table.columns.items()
            ]
        )
        name = table_name(place_of(table, self._root))
        facets = {"schema": shape} | _version(report.inputs.get(table.name) if report else None)
        return InputDataset(*name, facets=facets, inputFacets={})

    def _input(self, number: int, name: Name, report: Report | None) -> InputDataset:
        facets: dict[str, Any] = {}
        topic = self._spec.inputs[number]
        if report is not None:
            start, end = (_own(of, number) for of in (report.offsets_start, report.offsets_end))
            facets[OFFSETS] = OffsetsFacet(start=start, end=end)
        if report is not None and len(self._topics) == 1:
            facets["inputStatistics"] = read_rows.InputStatisticsInputDatasetFacet(
                rowCount=report.account.read
            )
        fields = [
            schema.SchemaDatasetFacetFields(
                name=field.name, type=field.type, description=field.about or None
            )
            for field in topic.fields
        ]
        shape: DatasetFacet = schema.SchemaDatasetFacet(fields=fields)
        read = [report.inputs.get(each.name) for each in topic.beside] if report else []
        about = {"schema": shape} | _version(next(iter(read), None))
        return InputDataset(*name, facets=about, inputFacets=facets)

    def table(self, version: int | None, rows: int | None = None) -> OutputDataset:
        """The pipeline's table as a run has left it, after it wrote so many rows."""
        facets = self._delta(version) | self._columns() | self._from_topic()
        if self._spec.is_archive:
            facets |= self._asset()
        return OutputDataset(*self._table, facets=facets, outputFacets=_rows(rows))

    def table_read(self, version: int | None, **facets: Any) -> InputDataset:
        """The same table, read by a task."""
        return InputDataset(*self._table, facets=self._delta(version), inputFacets=facets)

    def published(self) -> OutputDataset:
        """The table of judged rows. Consumers know it as Airflow's asset too."""
        same: Origins = {name: (Origin(name, "identity"),) for name in self._names()}
        facets = self._delta(None) | self._columns() | self._asset()
        return OutputDataset(*self._published, facets=facets | _fields({self._table: same}))

    def staged(self, repair_id: str, rows: int | None) -> OutputDataset:
        """The rows of a repair beside the table. Its version is the repair."""
        facets = self._delta(repair_id) | self._columns() | self._from_topic()
        return OutputDataset(*self._stagings, facets=facets, outputFacets=_rows(rows))

    def staged_read(self, repair_id: str, **facets: Any) -> InputDataset:
        """The same rows, read by a check or by the swap."""
        return InputDataset(*self._stagings, facets=self._delta(repair_id), inputFacets=facets)

    def swapped(self, version: int | None, rows: int) -> OutputDataset:
        """The table after a repair."""
        same: Origins = {name: (Origin(name, "identity"),) for name in self._names()}
        facets = self._delta(version) | self._columns() | _fields({self._stagings: same})
        return OutputDataset(*self._table, facets=facets, outputFacets=_rows(rows))

    def rejected(self, report: Report) -> list[OutputDataset]:
        """The ops tables into which a run has put records."""
        bad = report.account.malformed + report.account.premature
        found = ((self._late, report.account.late), (self._quarantine, bad))
        return [
            OutputDataset(*name, facets=self._delta(None), outputFacets=_rows(count))
            for name, count in found
            if count
        ]

    def late_read(self, report: Report) -> list[InputDataset]:
        """The late records that a repair has merged or left out."""
        count = report.change.late if report.change else 0
        if not count:
            return []
        facets: dict[str, Any] = {
            "inputStatistics": read_rows.InputStatisticsInputDatasetFacet(rowCount=count)
        }
        return [InputDataset(*self._late, facets=self._delta(None), inputFacets=facets)]

    def _delta(self, version: int | str | None) -> dict[str, Any]:
        facets: dict[str, Any] = {
            "storage": storage.StorageDatasetFacet(storageLayer="delta", fileFormat="parquet")
        }
        return facets | _version(version)

    def _names(self) -> tuple[str, ...]:
        if self._spec.is_archive:
            return archive_spec.COLUMNS or ()
        columns: tuple[str, ...] | None = self._spec.inputs.columns
        for step in self._spec.steps:
            columns = step.columns_after(columns)
        return columns or ()

    def _columns(self) -> dict[str, Any]:
        types = self._spec.inputs.types
        for step in self._spec.steps:
            types = step.types_after(types)
        fields = [
            schema.SchemaDatasetFacetFields(name=name, type=types.get(name))
            for name in self._names()
        ]
        return {"schema": schema.SchemaDatasetFacet(fields=fields)} if fields else {}

    def _from_topic(self) -> dict[str, Any]:
        of = {
            dataset: {
                name: tuple(origin for origin in each if origin.column in topic.columns)
                for name, each in origins_of(self._spec, topic.name).items()
            }
            for dataset, topic in zip(self._topics, self._spec.inputs, strict=False)
        }
        return _fields(of)

    def _asset(self) -> dict[str, Any]:
        known = symlinks.Identifier("x-sluice://tables", self._spec.name, "TABLE")
        return {"symlinks": symlinks.SymlinksDatasetFacet(identifiers=[known])}


def of(pipeline: str, brokers: str = "") -> Datasets:
    """Datasets of the pipeline of this name, as its spec is now."""
    spec = registry.load(pipeline)
    return Datasets(spec, root_of(spec), brokers)


def _rows(count: int | None) -> dict[str, Any]:
    if count is None:
        return {}
    return {
        "outputStatistics": written_rows.OutputStatisticsOutputDatasetFacet(rowCount=count),
    }


def _own(offsets: dict[str, int], number: int) -> dict[str, int]:
    return Positions.of_named(offsets).of_inputs().get(number, Positions()).named


def _fields(of: Mapping[Name, Origins]) -> dict[str, Any]:
    """The facet of what columns are made of, given that for each dataset."""
    fields = {
        name: lineage.Fields(
            inputFields=[
                lineage.InputField(
                    *dataset,
                    column,
                    transformations=[lineage.Transformation(type="DIRECT", subtype=SUBTYPES[how])],
                )
                for dataset, origins in of.items()
                for column, how in origins.get(name, ())
            ]
        )
        for name in dict.fromkeys(name for origins in of.values() for name in origins)
    }
    return {"columnLineage": lineage.ColumnLineageDatasetFacet(fields=fields)} if fields else {}
