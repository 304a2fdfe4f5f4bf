"""A whole emulated server: an unmodified Debian kernel with real drivers, memcached, and room for the agent.

>>> from lab import Machine
>>> with Machine() as machine:  # doctest: +SKIP
...     machine.run("ethtool --show-coalesce eth0").stdout
...     machine.write("/sys/class/net/eth0/gro_flush_timeout", "20000")

`README.md` says what is real, what is modelled, and by which power law.
"""

from lab.commands import CommandResult
from lab.files import Files
from lab.machine import Machine
from lab.packages import missing

__all__ = ["CommandResult", "Files", "Machine", "missing"]
