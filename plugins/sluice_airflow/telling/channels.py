"""Where messages go: each channel is a connection of Airflow, and without it there is none."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from sluice_airflow.telling.message import Message
from spark_jobs.errors import SettingInvalid

MAIL, WEBHOOK = "sluice_mail", "sluice_webhook"
"""The connections: of type smtp, and of type http."""
TIMEOUT_SECONDS = 10.0
MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""In a chat like Slack, <...> is a link or calls everybody."""
FORMS = ("slack", "json")


def channels() -> Iterator[tuple[str, Callable[[Message], None]]]:
    """Each declared channel: the connection's name, and what sends a message."""
    for name, send in ((MAIL, _mail), (WEBHOOK, _webhook)):
        try:
            connection = BaseHook.get_connection(name)
        except AirflowNotFoundException:
            continue
        yield name, partial(send, connection)


def _mail(connection: Any, message: Message) -> None:
    from airflow.providers.smtp.notifications.smtp import SmtpNotifier  # noqa: PLC0415 - parsing a DAG needs no mail

    extra = connection.extra_dejson
    if not extra.get("to") or not extra.get("from_email"):
        raise SettingInvalid.mail_incomplete(connection=MAIL)
    notifier = SmtpNotifier(
        to=extra["to"],
        from_email=extra["from_email"],
        subject=message.subject,
        html_content=f"<pre>{html.escape(message.text)}</pre>",
        smtp_conn_id=MAIL,
    )
    # Not called: that would render the message as a template.
    notifier.notify({})


def _webhook(connection: Any, message: Message) -> None:
    """Raises SettingInvalid, or OSError with words that name no address: who has the address can
    write there.
    """
    import httpx  # noqa: PLC0415 - parsing a DAG needs no client

    form = connection.extra_dejson.get("form", "slack")
    if form not in FORMS:
        raise SettingInvalid.webhook_form_unknown(
            connection=WEBHOOK,
            form=form,
            known=" or ".join(FORMS),
        )
    body: dict[str, Any] = (
        {"text": message.text.translate(MARKUP)}
        if form == "slack"
        else {"subject": message.subject, "lines": message.lines}
    )
    port = f":{connection.port}" if connection.port else ""
    path = (connection.password or "").lstrip("/")
    address = f"{connection.schema or 'https'}://{connection.host}{port}/{path}"
    try:
        # Of the answer only the status is read: it may have any length.
        with httpx.stream("POST", address, json=body, timeout=TIMEOUT_SECONDS) as answer:
            status = answer.status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise OSError(f"{type(error).__name__}: {WEBHOOK!r} did not answer") from None
    if status >= httpx.codes.MULTIPLE_CHOICES:
        raise OSError(f"{WEBHOOK!r} answered with status {status}")
