"""Figures and the HTML report; they read records of studies and measure nothing."""

from typing import Final

REPORT: Final = "report.html"
"""The page, in the folder of `--out`."""

DATA: Final = "data.json"
"""The record of an experiment, beside its page."""
