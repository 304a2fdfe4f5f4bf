"""A setting as other programs write it: what BayOp has found, on machines where it does not run."""

from bayop.export.link import link
from bayop.export.script import script
from bayop.export.spelled import Coalescing, FileValue, Spelled, spell
from bayop.export.tuned import tuned

__all__ = ["Coalescing", "FileValue", "Spelled", "link", "script", "spell", "tuned"]
