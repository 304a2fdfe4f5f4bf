"""A memcached for memcached's own tests which is the library OS: takes memcached's options, and ends as it does.

    python -m bench.libos.memcached.server -m 32 -p 11211 -U 11211

What of the options has a word of the image is said with it; what changes only how memcached keeps its items, and not
what it answers, says nothing here. Any other option is refused with exit code 1, as memcached refuses what it does not
know, and is noted in the file that `REFUSED` in the environment names.
"""

from __future__ import annotations

import getopt
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from lab.libos import SERVICES, UDP_PORT, LibraryOs

REFUSED: Final = "BAYOPTEST_REFUSED"

_LETTERS: Final = "Aa:Zp:s:U:m:Mc:khiVrvdl:u:P:f:n:t:D:LR:Cb:B:I:SFXWe:o:N:Y:"
_MEANINGLESS: Final = frozenset({"-l", "-p", "-U", "-u", "-t", "-v", "-R"})
_KEEPING: Final = frozenset(
    {
        "relaxed_privileges",
        "modern",
        "no_modern",
        "lru_crawler",
        "no_lru_crawler",
        "lru_maintainer",
        "no_lru_maintainer",
        "slab_chunk_max",
    }
)


class Wanted(NamedTuple):
    """What memcached's options ask for.

    Attributes:
        words: The image's.
        ports: Where it listens, by protocol; none of UDP where that is off.
        refused: Options that it has no word for.
    """

    words: str
    ports: dict[str, int]
    refused: Sequence[str]


def names(extended: str) -> Sequence[str]:
    """The names of what `-o` is told."""
    return [option.partition("=")[0] for option in extended.split(",")]


def wanted(arguments: Sequence[str]) -> Wanted:
    """What memcached's options ask of the library OS."""
    options = getopt.gnu_getopt(list(arguments), _LETTERS)[0]
    words, ports, refused = ["connections=1024"], {"tcp": SERVICES["memcached"].port}, []
    for option, value in options:
        if option == "-m":
            words.append(f"memory={value}")
        elif option == "-c":
            words.append(f"connections={value}")
        elif option == "-p":
            ports["tcp"] = int(value)
        elif option == "-U" and value != "0":
            ports["udp"] = int(value)
            words.append("udp=on")
        elif option == "-o":
            refused += [f"-o {name}" for name in names(value) if name not in _KEEPING]
        elif option not in _MEANINGLESS:
            refused.append(option)
    return Wanted(" ".join(words), ports, refused)


def main(arguments: Sequence[str]) -> int:
    """Serves until it is told to end."""
    if arguments == ["-h"]:
        print("memcached, by the library OS")  # and nothing of what a test asks for: TLS, SASL, Unix sockets
        return 0
    words, ports, refused = wanted(arguments)
    if refused:
        with Path(os.environ[REFUSED]).open("a", encoding="utf-8") as file:
            file.writelines(f"{option}\n" for option in refused)
        return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with LibraryOs(words, ports={(protocol, UDP_PORT): port for protocol, port in ports.items()}) as machine:
            machine.wait()
    except KeyboardInterrupt:
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
