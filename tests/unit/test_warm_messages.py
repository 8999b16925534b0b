"""What a client and the worker say to each other, over a real local socket."""

import os
import socket
import stat
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from spark_jobs.launch.warm import link as links
from spark_jobs.launch.warm.link import (
    LENGTH,
    MOST_BYTES,
    BadMessage,
    Drain,
    Ended,
    Gone,
    Link,
    Look,
    Stop,
    decode,
    encode,
)

TEXT = st.text()
"""Halves of surrogate pairs too, which stand for bytes that are no UTF-8."""
DRAINS = st.builds(
    Drain,
    words=st.lists(TEXT),
    variables=st.dictionaries(TEXT, TEXT),
    folder=TEXT,
    fingerprint=st.dictionaries(TEXT, TEXT),
)


@pytest.fixture
def ends() -> Iterator[tuple[Link, socket.socket]]:
    """A link, and the bare socket at its other end."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    link = Link(ours)
    yield link, theirs
    link.close()
    theirs.close()


@given(DRAINS)
def test_a_message_arrives_as_it_was_sent(drain):
    assert decode(encode(drain)) == drain


@given(
    st.binary()
    | st.recursive(st.none() | st.booleans() | st.floats() | TEXT, st.lists)
    .map(repr)
    .map(str.encode)
)
def test_whatever_else_arrives_is_refused_by_one_kind_of_error(content):
    with pytest.raises(ValueError, match=r".*"):
        decode(content)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b'{"type":"Stop","more":1}', "more"),
        (b'{"type":"Ended"}', "status"),
        (b'{"type":"Ended","status":"0"}', "status"),
        (b'{"type":"Nothing"}', "Nothing"),
        (b'{"type":"Drain","words":["drain"],"variables":{"A":1},"folder":"","fingerprint":{}}', "variables"),
    ],
)  # fmt: skip
def test_a_message_of_another_form_is_refused_and_the_field_named(content, named):
    with pytest.raises(ValueError, match=named):
        decode(content)


def test_open_files_come_with_a_message(ends, tmp_path):
    link, other = ends
    with (tmp_path / "said").open("wb") as file:
        sender = Link(other.dup())
        sender.send(Look(), (file.fileno(), file.fileno()))
        sender.close()
    assert link.receive() == Look()
    assert len(link.files) == 2
    os.write(link.files[0], b"written by whoever got it")
    assert (tmp_path / "said").read_bytes() == b"written by whoever got it"
    taken = link.files
    assert not any(os.get_inheritable(file) for file in taken)
    link.close()
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(taken[0])


def test_whether_something_was_said_is_seen_without_taking_it(ends):
    link, other = ends
    assert not link.is_told()
    content = encode(Ended(7))
    other.sendall(LENGTH.pack(len(content)) + content)
    assert link.is_told()
    assert link.receive() == Ended(7)
    other.close()
    assert not link.is_told()
    link.close()
    assert not link.is_told()


def test_two_messages_that_arrive_at_once_are_two(ends):
    link, other = ends
    for each in (Stop(), Ended(7)):
        content = encode(each)
        other.sendall(LENGTH.pack(len(content)) + content)
    assert [link.receive(), link.receive()] == [Stop(), Ended(7)]
    assert link.receive(0.01) is None


def test_a_message_larger_than_any_is_refused_before_it_is_read(ends):
    link, other = ends
    other.sendall(LENGTH.pack(MOST_BYTES + 1))
    with pytest.raises(BadMessage, match=str(MOST_BYTES)):
        link.receive()


def test_nobody_is_waited_for_who_begins_a_message_and_does_not_end_it(ends, monkeypatch):
    link, other = ends
    monkeypatch.setattr(links, "PATIENCE_SECONDS", 0.05)
    other.sendall(LENGTH.pack(100) + b"{")
    with pytest.raises(BadMessage, match="not ended"):
        link.receive()


def test_a_peer_that_is_gone_is_told_from_one_that_is_silent(ends):
    link, other = ends
    assert link.receive(0.01) is None
    other.close()
    with pytest.raises(Gone):
        link.receive(1)
    with pytest.raises(Gone):
        link.send(Stop())


@pytest.mark.skipif(
    not hasattr(socket, "SO_PEERCRED"), reason="the kernel tells no peer's user here"
)
def test_another_users_process_is_refused(monkeypatch):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    me = os.getuid()
    monkeypatch.setattr(links.os, "getuid", lambda: me + 1)
    with ours, theirs, pytest.raises(BadMessage, match=f"user {me}"):
        Link(ours)


def test_only_this_user_may_connect_to_the_socket(tmp_path):
    path = tmp_path / "socket"
    with links.listening(path) as listener:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        accepted: list[socket.socket] = []
        thread = threading.Thread(target=lambda: accepted.append(listener.accept()[0]))
        thread.start()
        link = links.connected(path)
        thread.join()
    link.close()
    accepted[0].close()


def test_a_socket_at_which_nobody_listens_is_as_none(tmp_path):
    assert links.connected(tmp_path / "none") is None
    links.listening(tmp_path / "dead").close()
    assert links.connected(tmp_path / "dead") is None
