"""Errors: every way in which Sluice refuses or fails. A class has a code and an exit status, and
the texts of its reasons; `make reference` lists them.

May import: values. Imported by: any room above.
Never here: what decides whether to fail.
"""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, Value
from spark_jobs.errors.catalogue import by_code, catalogue
from spark_jobs.errors.checkpoint import CheckpointBroken, CheckpointForeign
from spark_jobs.errors.checks import (
    CaseInvalid,
    CasesFailed,
    CheckBroken,
    CheckFailed,
    DecisionRefused,
)
from spark_jobs.errors.code import (
    ExpressionFailed,
    ProcessorFailed,
    RecordsRefused,
    StateMisused,
)
from spark_jobs.errors.kafka import (
    KafkaConfigInvalid,
    KafkaRefused,
    KafkaUnreachable,
    OffsetsWentBack,
    RecordsGone,
    TopicMissing,
    TopicRemade,
    TransactionsUnusable,
)
from spark_jobs.errors.lease import LeaseHeld, LeaseLost
from spark_jobs.errors.ranges import (
    AccountBehind,
    RangeInvalid,
    RangeOpen,
    RangeThinned,
    RangeUnsupported,
    RecordsUnreachable,
)
from spark_jobs.errors.rebuild import RebuildRefused, VersionNotLive
from spark_jobs.errors.registry import RegistryRefused, RegistryUnreachable
from spark_jobs.errors.repair import (
    ApprovalMissing,
    ChangeUnexplained,
    RepairOverlapped,
    RepairUnknown,
    StagingStale,
    SwapRefused,
)
from spark_jobs.errors.root import (
    DiskFull,
    FormatNewer,
    RootEmpty,
    RootNotWritable,
    RootRefused,
    RootUnreachable,
)
from spark_jobs.errors.run import (
    ClusterUnreachable,
    NoExecutors,
    ProcessDied,
    ReportMissing,
    RunStalled,
    SparkFailed,
    Stopped,
)
from spark_jobs.errors.settings import (
    ConnectionMissing,
    InstallFailed,
    JarsMissing,
    SettingInvalid,
)
from spark_jobs.errors.spec import (
    CommitUnreadable,
    ContractBroken,
    PipelineUnknown,
    SampleUnusable,
    SpecInvalid,
)
from spark_jobs.errors.state import (
    InitialStateMissing,
    RepartitionRefused,
    StateIncompatible,
    StateUnreadable,
)
from spark_jobs.errors.table import (
    CatalogRefused,
    MaintenanceRefused,
    OpsUnreadable,
    PublishedTableRefused,
    RowRefused,
    SideGone,
    TableChanged,
    TableContended,
    TableLacks,
    TableReplaced,
)
from spark_jobs.errors.unexpected import unexpected

__all__ = [
    "AccountBehind",
    "ApprovalMissing",
    "CaseInvalid",
    "CasesFailed",
    "CatalogRefused",
    "ChangeUnexplained",
    "CheckBroken",
    "CheckFailed",
    "CheckpointBroken",
    "CheckpointForeign",
    "ClusterUnreachable",
    "CommitUnreadable",
    "ConnectionMissing",
    "ContractBroken",
    "DecisionRefused",
    "DiskFull",
    "ExpressionFailed",
    "FormatNewer",
    "InitialStateMissing",
    "InstallFailed",
    "JarsMissing",
    "KafkaConfigInvalid",
    "KafkaRefused",
    "KafkaUnreachable",
    "LeaseHeld",
    "LeaseLost",
    "MaintenanceRefused",
    "NoExecutors",
    "OffsetsWentBack",
    "OpsUnreadable",
    "PipelineUnknown",
    "ProcessDied",
    "ProcessorFailed",
    "PublishedTableRefused",
    "RangeInvalid",
    "RangeOpen",
    "RangeThinned",
    "RangeUnsupported",
    "RebuildRefused",
    "RecordsGone",
    "RecordsRefused",
    "RecordsUnreachable",
    "RegistryRefused",
    "RegistryUnreachable",
    "RepairOverlapped",
    "RepairUnknown",
    "RepartitionRefused",
    "ReportMissing",
    "RootEmpty",
    "RootNotWritable",
    "RootRefused",
    "RootUnreachable",
    "RowRefused",
    "RunStalled",
    "SampleUnusable",
    "SettingInvalid",
    "SideGone",
    "SluiceError",
    "SparkFailed",
    "SpecInvalid",
    "StagingStale",
    "StateIncompatible",
    "StateMisused",
    "StateUnreadable",
    "Stopped",
    "SwapRefused",
    "TableChanged",
    "TableContended",
    "TableLacks",
    "TableReplaced",
    "TopicMissing",
    "TopicRemade",
    "TransactionsUnusable",
    "Value",
    "VersionNotLive",
    "by_code",
    "catalogue",
    "unexpected",
]
