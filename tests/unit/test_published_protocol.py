"""What the published table takes over of the pipeline's table's protocol: what readers need, and nothing that only writers do."""

from spark_jobs.errors import PublishedTableRefused
from spark_jobs.table.published.commit import shown_metadata, shown_protocol
from spark_jobs.table.published.table import located
from tests.harness.refused import fails


def features(*names: str) -> dict[str, object]:
    return {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": [*names],
        "writerFeatures": [*names, "rowTracking", "domainMetadata", "changeDataFeed"],
    }


def test_features_of_writers_are_left_out():
    assert shown_protocol({"minReaderVersion": 1, "minWriterVersion": 7}, "p") == {
        "minReaderVersion": 1,
        "minWriterVersion": 2,
    }
    shown = shown_protocol(features("deletionVectors", "v2Checkpoint"), "p")
    assert shown["readerFeatures"] == shown["writerFeatures"] == ["deletionVectors"]


def test_column_mapping_from_before_features_had_names_is_kept():
    assert shown_protocol({"minReaderVersion": 2, "minWriterVersion": 5}, "p") == {
        "minReaderVersion": 2,
        "minWriterVersion": 5,
    }


def test_a_feature_that_needs_more_than_entries_and_schema_is_refused_by_its_name():
    with fails(PublishedTableRefused, "feature_unpublishable", table="p", unknown="catalogManaged"):
        shown_protocol(features("deletionVectors", "catalogManaged"), "p")


def test_properties_of_the_pipelines_table_stay_there_but_for_how_columns_are_found():
    own = {
        "id": "live",
        "schemaString": '{"type":"struct","fields":[]}',
        "configuration": {"delta.enableChangeDataFeed": "true", "delta.columnMapping.mode": "name"},
    }
    shown = shown_metadata(own, "published", {"sluice.published": "p"})
    assert (shown["id"], shown["schemaString"]) == ("published", own["schemaString"])
    assert shown["configuration"] == {"sluice.published": "p", "delta.columnMapping.mode": "name"}


def test_files_and_deletion_vectors_are_found_from_the_published_tables_folder():
    vector = {"storageType": "u", "pathOrInlineDv": "ab" + 20 * "x", "offset": 1}
    found = located({"path": "a%20b/part-0", "deletionVector": vector}, "_rows-1")
    assert found["path"] == "_rows-1/a%20b/part-0"
    assert found["deletionVector"] == vector | {"pathOrInlineDv": "_rows-1/ab" + 20 * "x"}
    inline = {"storageType": "i", "pathOrInlineDv": "abc"}
    elsewhere = {"path": "s3://bucket/part-0", "deletionVector": inline}
    assert located(elsewhere, "_rows-1") == elsewhere
