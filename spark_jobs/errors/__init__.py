"""Errors: every way in which Sluice refuses or fails. A class has a code and an exit status, and
the texts of its reasons; `make reference` lists them. A class's module is loaded when the class is
first asked for: a run loads those that it may raise.

May import: values. Imported by: any room above.
Never here: what decides whether to fail.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.errors.base import SluiceError, Value, by_code, catalogue

_MODULES: Final = {
    "AccountBehind": "ranges",
    "ApprovalMissing": "repair",
    "CaseInvalid": "written",
    "CasesFailed": "written",
    "CatalogRefused": "table",
    "ChangeUnexplained": "checks",
    "CheckBroken": "checks",
    "CheckFailed": "checks",
    "CheckpointBroken": "root",
    "CheckpointForeign": "root",
    "ClusterUnreachable": "run",
    "CommitUnreadable": "written",
    "ConnectionMissing": "installing",
    "ContractBroken": "written",
    "DecisionRefused": "repair",
    "DimensionAmbiguous": "lake",
    "DimensionUnfit": "lake",
    "DiskFull": "root",
    "ExpressionFailed": "run",
    "FilesUnfit": "lake",
    "FormatNewer": "root",
    "InitialStateMissing": "state",
    "InstallFailed": "installing",
    "JarsMissing": "installing",
    "KafkaConfigInvalid": "kafka",
    "KafkaRefused": "kafka",
    "KafkaUnreachable": "kafka",
    "LeaseHeld": "root",
    "LeaseLost": "root",
    "MaintenanceRefused": "table",
    "NoExecutors": "run",
    "OffsetsWentBack": "gone",
    "OpsUnreadable": "table",
    "PipelineUnknown": "spec",
    "ProcessDied": "run",
    "ProcessorFailed": "run",
    "PublishedTableRefused": "table",
    "QuestionRefused": "table",
    "RangeInvalid": "ranges",
    "RangeOpen": "ranges",
    "RangeThinned": "checks",
    "RangeUnsupported": "ranges",
    "RebuildRefused": "rebuilding",
    "RecordsGone": "gone",
    "RecordsRefused": "run",
    "RecordsUnreachable": "ranges",
    "RegistryRefused": "kafka",
    "RegistryUnreachable": "kafka",
    "RepairOverlapped": "repair",
    "RepairUnknown": "repair",
    "RepartitionRefused": "state",
    "ReportMissing": "run",
    "RootEmpty": "root",
    "RootNotWritable": "root",
    "RootRefused": "root",
    "RootUnreachable": "root",
    "RowRefused": "table",
    "RunStalled": "run",
    "SampleUnusable": "written",
    "SettingInvalid": "settings",
    "SideGone": "table",
    "SparkFailed": "run",
    "SpecInvalid": "spec",
    "StagingStale": "repair",
    "StateIncompatible": "run",
    "StateMisused": "run",
    "StateUnreadable": "state",
    "Stopped": "run",
    "SwapRefused": "repair",
    "TableChanged": "table",
    "TableContended": "table",
    "TableLacks": "table",
    "TableReplaced": "table",
    "TopicMissing": "kafka",
    "TopicRemade": "gone",
    "TransactionsUnusable": "kafka",
    "UpstreamUnfit": "lake",
    "VersionNotLive": "run",
    "unexpected": "run",
}
"""A name -> its module in this package; mypy and a test hold them against the imports below."""

__all__ = list(_MODULES)
__all__ += ["SluiceError", "Value", "by_code", "catalogue"]

if TYPE_CHECKING:
    from spark_jobs.errors.checks import (
        ChangeUnexplained as ChangeUnexplained,
        CheckBroken as CheckBroken,
        CheckFailed as CheckFailed,
        RangeThinned as RangeThinned,
    )
    from spark_jobs.errors.gone import (
        OffsetsWentBack as OffsetsWentBack,
        RecordsGone as RecordsGone,
        TopicRemade as TopicRemade,
    )
    from spark_jobs.errors.installing import (
        ConnectionMissing as ConnectionMissing,
        InstallFailed as InstallFailed,
        JarsMissing as JarsMissing,
    )
    from spark_jobs.errors.kafka import (
        KafkaConfigInvalid as KafkaConfigInvalid,
        KafkaRefused as KafkaRefused,
        KafkaUnreachable as KafkaUnreachable,
        RegistryRefused as RegistryRefused,
        RegistryUnreachable as RegistryUnreachable,
        TopicMissing as TopicMissing,
        TransactionsUnusable as TransactionsUnusable,
    )
    from spark_jobs.errors.lake import (
        DimensionAmbiguous as DimensionAmbiguous,
        DimensionUnfit as DimensionUnfit,
        FilesUnfit as FilesUnfit,
        UpstreamUnfit as UpstreamUnfit,
    )
    from spark_jobs.errors.ranges import (
        AccountBehind as AccountBehind,
        RangeInvalid as RangeInvalid,
        RangeOpen as RangeOpen,
        RangeUnsupported as RangeUnsupported,
        RecordsUnreachable as RecordsUnreachable,
    )
    from spark_jobs.errors.rebuilding import RebuildRefused as RebuildRefused
    from spark_jobs.errors.repair import (
        ApprovalMissing as ApprovalMissing,
        DecisionRefused as DecisionRefused,
        RepairOverlapped as RepairOverlapped,
        RepairUnknown as RepairUnknown,
        StagingStale as StagingStale,
        SwapRefused as SwapRefused,
    )
    from spark_jobs.errors.root import (
        CheckpointBroken as CheckpointBroken,
        CheckpointForeign as CheckpointForeign,
        DiskFull as DiskFull,
        FormatNewer as FormatNewer,
        LeaseHeld as LeaseHeld,
        LeaseLost as LeaseLost,
        RootEmpty as RootEmpty,
        RootNotWritable as RootNotWritable,
        RootRefused as RootRefused,
        RootUnreachable as RootUnreachable,
    )
    from spark_jobs.errors.run import (
        ClusterUnreachable as ClusterUnreachable,
        ExpressionFailed as ExpressionFailed,
        NoExecutors as NoExecutors,
        ProcessDied as ProcessDied,
        ProcessorFailed as ProcessorFailed,
        RecordsRefused as RecordsRefused,
        ReportMissing as ReportMissing,
        RunStalled as RunStalled,
        SparkFailed as SparkFailed,
        StateIncompatible as StateIncompatible,
        StateMisused as StateMisused,
        Stopped as Stopped,
        VersionNotLive as VersionNotLive,
        unexpected as unexpected,
    )
    from spark_jobs.errors.settings import SettingInvalid as SettingInvalid
    from spark_jobs.errors.spec import (
        PipelineUnknown as PipelineUnknown,
        SpecInvalid as SpecInvalid,
    )
    from spark_jobs.errors.state import (
        InitialStateMissing as InitialStateMissing,
        RepartitionRefused as RepartitionRefused,
        StateUnreadable as StateUnreadable,
    )
    from spark_jobs.errors.table import (
        CatalogRefused as CatalogRefused,
        MaintenanceRefused as MaintenanceRefused,
        OpsUnreadable as OpsUnreadable,
        PublishedTableRefused as PublishedTableRefused,
        QuestionRefused as QuestionRefused,
        RowRefused as RowRefused,
        SideGone as SideGone,
        TableChanged as TableChanged,
        TableContended as TableContended,
        TableLacks as TableLacks,
        TableReplaced as TableReplaced,
    )
    from spark_jobs.errors.written import (
        CaseInvalid as CaseInvalid,
        CasesFailed as CasesFailed,
        CommitUnreadable as CommitUnreadable,
        ContractBroken as ContractBroken,
        SampleUnusable as SampleUnusable,
    )
else:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = found
        return found
