"""The study: one table of trials for sweeps, searches and published data. Importing it imports polars."""

from bayop.study.merge import merge_studies
from bayop.study.store import open_study, trusted, write_study

__all__ = ["merge_studies", "open_study", "trusted", "write_study"]
