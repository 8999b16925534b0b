"""The pipeline's own code and expressions."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class ProcessorFailed(SluiceError):
    """The pipeline's own code in `logic.py` raised an error."""

    code, exit_status = "PROCESSOR_FAILED", 43
    usual_remedy = "Correct the line of `logic.py` that is named."

    timers_endless = reason(
        "{pipeline}: {processor} sets timers that are due at once, again and again. After "
        "{batches} batches there were more.",
        "A processor must handle all that the watermark has passed, and set timers after it.",
    )
    code_raised = reason("{place}: {kind}: {text}", "{resume}", quoted=("text",))
    code_raised_in_batch = reason("{where}: {said}", "{resume}", quoted=("said",))
    result_wrong = reason(
        "The code of {pipeline} returned what Spark cannot take: {text}.",
        "{resume}",
        quoted=("text",),
    )
    signature_unfit = reason(
        "{handler}in {name}: it takes {signature}, and Spark passes ({parameters}) {how}: {error}.",
        "{resume}",
        quoted=("error",),
    )


class StateMisused(SluiceError):
    """The pipeline's own code used its state in a way that Spark does not allow: a timer of another
    clock, None as a value.
    """

    code, exit_status = "STATE_MISUSED", 44
    usual_remedy = "Correct the line of `logic.py` that is named."

    none_as_value = reason("{where}: {why}.", "Clear the state instead: clear(). {resume}")
    misused = reason("{where}: {why} ({name}).", "{remedy} {resume}")


class ExpressionFailed(SluiceError):
    """Spark could not compute an expression of the spec: for more than the few records that a drain
    puts aside, or in a repair, which puts none aside.
    """

    code, exit_status = "EXPRESSION_FAILED", 55
    usual_remedy = "Correct the expression, and name the old one in `compatible_expressions`."

    expression_failed = reason(
        "{pipeline}: {where}: {condition}: {message}. {why}",
        "{first}Correct the expression in spec.py: try_divide and try_cast give null where / and "
        "CAST fail. Add its old text to compatible_expressions, or of one in logic.py its digest "
        "to compatible_logic. {then}",
        quoted=("condition", "message"),
    )


class RecordsRefused(SluiceError):
    """A rule with on_failure='refuse' refuses records: the batch, or the repair, is not done."""

    code, exit_status = "RECORDS_REFUSED", 65
    usual_remedy = "Put the records into quarantine, or change the rule."

    batch = reason(
        "{pipeline}: records of batch {batch} fail a rule with on_failure='refuse': {places}.",
        "Look at them, and put them into quarantine: sluice quarantine {pipeline}. The next run "
        "repeats the batch without them. Or change the rule in spec.py.",
    )
    repair = reason(
        "{pipeline}: records of repair {repair} fail a rule with on_failure='refuse': {places}.",
        "Put them into quarantine: sluice quarantine {pipeline} {named} --reason WHY. Or change "
        "the rule in spec.py. Nothing was changed: then plan the repair again.",
    )
