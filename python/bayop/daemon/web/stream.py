"""What happens, as Server-Sent Events: for each word its number, its name and the word itself in JSON.

A viewer that was away says the number of its last word (`Last-Event-ID`) and gets what it has missed, or, where that is
not kept any more, the word `missed`: it looks at everything anew.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bayop.daemon.web.content import encode
from bayop.daemon.web.feed import Feed

_PULSE_S: Final = 15.0
"""So long after the last word a viewer is told that nothing has happened, by which a dead one is found out."""
_NUMBER: Final = re.compile(r"[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer without an end.

    Attributes:
        feed: What happens.
        since: The last word that the viewer has heard; None for what comes from now on.
    """

    feed: Feed
    since: int | None

    @classmethod
    def of(cls, feed: Feed, headers: Mapping[str, str]) -> Stream:
        """As a request wants it."""
        said = headers.get("last-event-id", "")
        return cls(feed, int(said) if _NUMBER.fullmatch(said) else None)

    def parts(self) -> Generator[bytes, None, None]:
        """What is sent, until nothing follows any more."""
        number = self.feed.last if self.since is None else self.since
        yield _word(number, {"event": "hello"})
        while not self.feed.is_over:
            last, words = self.feed.after(number, _PULSE_S)
            if words is None:
                yield _word(last, {"event": "missed"})
            elif words:
                first = last - len(words) + 1
                yield b"".join(_word(first + index, word) for index, word in enumerate(words))
            elif not self.feed.is_over:
                yield b": nothing\n\n"
            number = last


def _word(number: int, word: Mapping[str, Any]) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, str(word["event"]).encode(), encode(word))
