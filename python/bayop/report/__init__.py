"""Figures and the HTML report; they read records of studies and measure nothing."""
