"""What programs read: the events of every verb under `--json`, one object a line, declared once.

`EVENTS` is the declaration; `schema` makes a JSON Schema of it, which is published in docs/reference/events/. A new
verb declares its events in the room of its kind, and lists them in `declared.py`; a test misses it otherwise.
"""

from bayop.events.declared import ERROR, EVENTS
from bayop.events.shape import Event, schema

__all__ = ["ERROR", "EVENTS", "Event", "schema"]
