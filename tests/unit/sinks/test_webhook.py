"""The webhook and real web servers: what counts as taken, who is believed, and for how long."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority
from happenings import decisions
from mosquitto import wait_until
from receiver import Receiver, Reply, receiving

from edgefaced.errors import ConfigError, EventRefused, SinkAway
from edgefaced.events import Event
from edgefaced.sinks.posting import Answer, Poster, endpoint
from edgefaced.sinks.signing import keys_in, signature
from edgefaced.sinks.webhook import Verdict, WebhookSink, apart, asked_to_wait, judged

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@contextmanager
def sink_to(
    server: Receiver,
    context: ssl.SSLContext | None = None,
    *,
    path: str = "/hook",
    stop: threading.Event | None = None,
    seconds: float = 60,
) -> Iterator[WebhookSink]:
    where = endpoint(server.url + path)
    poster = Poster(where, context, seconds=seconds, stop=stop or threading.Event())
    with closing(WebhookSink(poster, where.shown, keys_in(SECRET, "a test"))) as sink:
        yield sink


def is_taken(sink: WebhookSink, event: Event) -> bool:
    """On a busy machine a second may be too short."""
    try:
        sink.emit(event)
    except SinkAway:
        return False
    return True


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def test_a_receiver_can_verify_what_it_gets(server: Receiver) -> None:
    event = decisions(1)[0]
    with sink_to(server, path="/hook?token=t0ken") as sink:
        sink.emit(event)
    (got,) = server.taken
    assert got.path == "/hook?token=t0ken"
    assert got.headers["content-type"] == "application/json"
    assert got.headers["webhook-id"] == got.headers["idempotency-key"] == event.id
    assert abs(int(got.headers["webhook-timestamp"]) - datetime.now(UTC).timestamp()) < 300
    # As any receiver would do it.
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    signed = f"{event.id}.{got.headers['webhook-timestamp']}.".encode() + got.body
    wanted = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    assert got.headers["webhook-signature"] == f"v1,{wanted}"
    assert json.loads(got.body)["event_id"] == event.id


def test_the_signature_is_that_of_the_specifications_example() -> None:
    keys = keys_in("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", "a test")
    made = signature(keys, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_two_keys_are_two_signatures_while_a_receiver_changes_over() -> None:
    other = "whsec_" + base64.b64encode(b"b" * 24).decode()
    both = signature(keys_in(f"{SECRET}\n\n {other} \n", "f"), "id", 1, b"")
    single = [signature(keys_in(key, "f"), "id", 1, b"") for key in (SECRET, other)]
    assert both.split(" ") == single


@pytest.mark.parametrize("text", ["hunter2", "whsec_", "whsec_aGVsbG8=", "whsec_!!!!", "whsec_ä"])
def test_a_weak_key_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        keys_in(text, "webhook.key_file")
    assert "webhook.key_file" in caught.value.message
    assert text.removeprefix("whsec_") not in caught.value.message or text == "whsec_"


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        *((status, Verdict.TAKEN) for status in (200, 201, 202, 204, 299)),
        *((status, Verdict.NEVER) for status in (400, 409, 413, 415, 422)),
        *((status, Verdict.AGAIN) for status in (301, 302, 307, 401, 403, 404, 405, 408, 410)),
        *((status, Verdict.AGAIN) for status in (425, 429, 500, 502, 503, 504, 599)),
    ],
)
def test_what_an_answer_means(server: Receiver, status: int, verdict: Verdict) -> None:
    assert judged(status, 0) is verdict
    first, second = decisions(2)
    server.replies = [Reply(status, {"Location": f"{server.url}/elsewhere"})]
    with sink_to(server) as sink:
        if verdict is Verdict.TAKEN:
            sink.emit(first)
        else:
            wanted = EventRefused if verdict is Verdict.NEVER else SinkAway
            with pytest.raises(wanted, match=f"http://localhost:{server.server_port}/… answers"):
                sink.emit(first)
        sink.emit(second)
    assert [got.path for got in server.got] == ["/hook", "/hook"], "no redirect is followed"


def test_a_refusal_by_a_clock_that_differs_is_not_about_the_event(server: Receiver) -> None:
    assert judged(400, 3601) is judged(400, -3601) is Verdict.AGAIN
    past = format_datetime(datetime.now(UTC) - timedelta(days=20000), usegmt=True)
    server.replies = [Reply(400, {"Date": past})]
    with sink_to(server) as sink, pytest.raises(SinkAway, match="clock and ours"):
        sink.emit(decisions(1)[0])


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        (None, 0),
        ("", 0),
        ("7", 7),
        (" 120 ", 120),
        ("999999999999", 3600),
        ("-5", 0),
        ("soon", 0),
        (format_datetime(NOW + timedelta(seconds=30), usegmt=True), 30),
        (format_datetime(NOW - timedelta(seconds=30), usegmt=True), 0),
        ("Sun, 01 Mar 2026 12:00:10 -0000", 10),
        ("Sun, 01 Mar 2026 12:00:10 +9999999999999999999", 0),
        ("Sun, 01 Mar 2026 12:00:99999999999999999999 GMT", 0),
    ],
)
def test_retry_after_is_read_in_both_forms(said: str | None, seconds: float) -> None:
    assert asked_to_wait(Answer(503, said), NOW) == seconds


def test_retry_after_counts_by_the_servers_clock() -> None:
    theirs = NOW + timedelta(days=3)
    until = format_datetime(theirs + timedelta(seconds=30), usegmt=True)
    answer = Answer(503, until, format_datetime(theirs, usegmt=True))
    assert asked_to_wait(answer, NOW) == 30
    assert apart(answer, NOW) == timedelta(days=3).total_seconds()


def test_a_server_with_a_date_that_is_none_is_answered_like_any_other(server: Receiver) -> None:
    server.replies = [Reply(503, {"Date": "Sun, 01 Mar 2026 12:00:10 +9999999999999999999"})]
    with sink_to(server) as sink, pytest.raises(SinkAway, match="answers 503"):
        sink.emit(decisions(1)[0])


def test_who_asks_to_be_left_alone_gets_no_request(server: Receiver) -> None:
    server.replies = [Reply(503, {"Retry-After": "3000"})]
    event = decisions(1)[0]
    with sink_to(server) as sink:
        with pytest.raises(SinkAway, match="answers 503"):
            sink.emit(event)
        with pytest.raises(SinkAway, match=r"wants no request for another \d{1,4} s"):
            sink.emit(event)
    assert len(server.got) == 1


def test_tls_with_the_right_authority_and_no_other(tmp_path: Path) -> None:
    authority, other = Authority(tmp_path / "ours"), Authority(tmp_path / "other", "Somebody else")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.certify("receiver", "localhost"))
    event = decisions(1)[0]
    with receiving(context) as server:
        with sink_to(server, ssl.create_default_context(cafile=authority.file)) as sink:
            sink.emit(event)
        for stranger in (other.file, None):
            wary = ssl.create_default_context(cafile=stranger)
            with sink_to(server, wary) as sink, pytest.raises(SinkAway, match="certificate"):
                sink.emit(event)
    assert len(server.taken) == 1


def test_a_certificate_of_another_host_is_not_believed(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.certify("receiver", "example.org"))
    trust = ssl.create_default_context(cafile=authority.file)
    with receiving(context) as server, sink_to(server, trust) as sink:
        with pytest.raises(SinkAway, match="localhost"):
            sink.emit(decisions(1)[0])
        assert not server.got


def test_nobody_waits_for_a_server_that_says_nothing(server: Receiver) -> None:
    server.replies = [Reply(silent=True)] * 2
    first, second = decisions(2)
    with sink_to(server, seconds=1) as sink:
        with pytest.raises(SinkAway, match=r"no answer within 1 s|timed out"):
            sink.emit(first)
        with pytest.raises(SinkAway, match=r"no answer within 1 s|timed out"):
            sink.emit(second)
        wait_until(lambda: is_taken(sink, first))
    assert [got.headers["webhook-id"] for got in server.got][:3] == [first.id, second.id, first.id]


def test_a_stop_ends_the_waiting(server: Receiver) -> None:
    server.replies = [Reply(silent=True)]
    stop = threading.Event()

    def stop_soon() -> None:
        server.silence.wait(60)
        stop.set()

    stopper = threading.Thread(target=stop_soon)
    stopper.start()
    with sink_to(server, stop=stop) as sink, pytest.raises(SinkAway, match="no answer"):
        sink.emit(decisions(1)[0])
    stopper.join()


@pytest.mark.parametrize("raw", [b"", b"\0\1\2\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"SSH-2.0-x\r\n"])
def test_what_is_no_http_is_not_taken(server: Receiver, raw: bytes) -> None:
    server.replies = [Reply(raw=raw)]
    with sink_to(server) as sink, pytest.raises(SinkAway):
        sink.emit(decisions(1)[0])


def test_an_endless_answer_is_not_read(server: Receiver) -> None:
    server.replies = [Reply(raw=b"HTTP/1.1 200 OK\r\n" + b"X-Long: y\r\n" * 200)]
    with sink_to(server) as sink, pytest.raises(SinkAway, match="no HTTP"):
        sink.emit(decisions(1)[0])


def test_nobody_there_is_said_with_the_host_and_without_the_rest() -> None:
    where = endpoint("http://127.0.0.1:1/hook/s3cret?token=t0ken")
    poster = Poster(where, None, seconds=60, stop=threading.Event())
    with (
        closing(WebhookSink(poster, where.shown, keys_in(SECRET, "f"))) as sink,
        pytest.raises(SinkAway) as caught,
    ):
        sink.emit(decisions(1)[0])
    assert caught.value.message == "http://127.0.0.1:1/…: Connection refused"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/hook/s3cret",
        "ftp://example.org/s3cret",
        "example.org/s3cret",
        "https:///s3cret",
        "https://door:s3cret@example.org/",
        "https://example.org:port/s3cret",
        "https://example.org:99999/s3cret",
        "https://[::1/s3cret",
        "https://example.org/s3cret with blanks",
        "https://exa..mple.org/s3cret",
        "https://example.org/s3cret\r\nHost: elsewhere",
        "https://example.org/s3cretü",
        "https://example.org/s3cret" + "x" * 5000,
    ],
)
def test_what_is_no_address_for_a_webhook_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        endpoint(url)
    assert "webhook.url" in caught.value.message
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "host", "port", "target", "tls"),
    [
        ("https://example.org", "example.org", 443, "/", True),
        ("https://Example.org:8443/a/b?c=d#e", "example.org", 8443, "/a/b?c=d", True),
        ("https://bücher.example/", "xn--bcher-kva.example", 443, "/", True),
        ("http://localhost:8123/hook", "localhost", 8123, "/hook", False),
        ("http://127.3.2.1/hook", "127.3.2.1", 80, "/hook", False),
        ("http://[::1]:80/hook", "::1", 80, "/hook", False),
    ],
)
def test_addresses(url: str, host: str, port: int, target: str, tls: bool) -> None:
    found = endpoint(url)
    assert (found.host, found.port, found.target, found.tls) == (host, port, target, tls)


def test_plain_http_to_others_needs_leave() -> None:
    assert not endpoint("http://192.168.1.9/hook", plain_http=True).tls


def test_a_name_whose_look_up_hangs_is_waited_for_once_and_sends_nothing_late(
    server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up, answered, asked = socket.getaddrinfo, threading.Event(), list[object]()

    def hanging(*words: Any, **more: Any) -> Any:
        asked.append(words)
        answered.wait(60)
        return look_up(*words, **more)

    monkeypatch.setattr(socket, "getaddrinfo", hanging)
    first, second = decisions(2)
    with sink_to(server, seconds=1) as sink:
        with pytest.raises(SinkAway, match="no answer within 1 s"):
            sink.emit(first)
        with pytest.raises(SinkAway, match="look-up of its name hangs"):
            sink.emit(first)
        assert len(asked) == 1
        answered.set()
        wait_until(lambda: is_taken(sink, second))
    assert {got.headers["webhook-id"] for got in server.got} == {second.id}
