"""Callbacks: the port at which this process hears from Spark's JVM that a batch is to be written.

Py4J asks nobody there who he is: any user of the machine could end the query, or have a batch
written. The JVM has a secret for it, and Py4J's Java side loses it where the port is told
(PythonClient.copyWith, py4j 0.10.9.9).
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject  # type: ignore[import-untyped]
from pyspark.java_gateway import ensure_callback_server_started


def require_secret(gateway: Any) -> None:
    """Open the port, for who has the secret with which this process calls the JVM."""
    if gateway._callback_server is not None:  # noqa: SLF001 - as PySpark looks
        return
    secret = gateway.gateway_parameters.auth_token
    gateway.callback_server_parameters.auth_token = secret
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    java = JavaObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient()  # noqa: SLF001
    field = java.getClass().getSuperclass().getDeclaredField("authToken")
    field.setAccessible(True)
    field.set(java, secret)
