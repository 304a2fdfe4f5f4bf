"""What viewers hear: in order, once, also those who were away; and nobody waits for them."""

from __future__ import annotations

import json
import threading

from bayop.daemon.web.feed import MOST, Feed
from bayop.daemon.web.stream import Stream


def words(part: bytes) -> list[tuple[int, str]]:
    """The numbers and names of what a viewer is sent."""
    lines = [text.split("\n") for text in part.decode().split("\n\n") if text.startswith("id:")]
    assert all(
        json.loads(data.removeprefix("data: "))["event"] == event.removeprefix("event: ") for _, event, data in lines
    )
    return [(int(number.removeprefix("id: ")), event.removeprefix("event: ")) for number, event, _ in lines]


def test_words_come_in_order_with_their_numbers() -> None:
    feed = Feed()
    feed.put({"event": "before"})
    parts = Stream.of(feed, {}).parts()
    assert words(next(parts)) == [(1, "hello")]
    feed.put({"event": "a"})
    feed.put({"event": "b", "text": "two\n\nlines"})
    assert words(next(parts)) == [(2, "a"), (3, "b")]
    feed.close()
    assert list(parts) == []


def test_who_was_away_hears_what_was_missed() -> None:
    feed = Feed()
    for name in "abc":
        feed.put({"event": name})
    parts = Stream.of(feed, {"last-event-id": "1"}).parts()
    assert words(next(parts)) == [(1, "hello")]
    assert words(next(parts)) == [(2, "b"), (3, "c")]


def test_who_was_away_for_too_long_or_knows_another_feed_is_told_so() -> None:
    feed = Feed()
    for _ in range(MOST + 1):
        feed.put({"event": "a"})
    for number in (0, MOST + 2):
        parts = Stream.of(feed, {"last-event-id": str(number)}).parts()
        next(parts)
        assert words(next(parts)) == [(MOST + 1, "missed")]
    assert Stream.of(feed, {"last-event-id": "none of ours"}).since is None


def test_a_word_wakes_who_waits() -> None:
    feed = Feed()
    waiting = threading.Timer(0.05, feed.put, [{"event": "a"}])
    waiting.start()
    assert feed.after(0, 60.0) == (1, [{"event": "a"}])
    assert feed.after(1, 0.0) == (1, [])


def test_no_more_look_on_than_there_is_room_for_however_many_come_at_once() -> None:
    feed, together = Feed(), threading.Barrier(16)
    had_room: list[bool] = []

    def look_on() -> None:
        together.wait()
        with feed.watched(3) as has_room:
            had_room.append(has_room)
            together.wait()

    viewers = [threading.Thread(target=look_on) for _ in range(16)]
    for viewer in viewers:
        viewer.start()
    for viewer in viewers:
        viewer.join()
    assert (had_room.count(True), feed.viewers) == (3, 0)
