"""A setting as other programs write it: what BayOp has found, on machines where it does not run."""

from bayop.export.link import check_link, link
from bayop.export.places import unplaced
from bayop.export.script import script
from bayop.export.spelled import Coalescing, FileValue, Spelled, spell
from bayop.export.tuned import tuned

__all__ = ["Coalescing", "FileValue", "Spelled", "check_link", "link", "script", "spell", "tuned", "unplaced"]
