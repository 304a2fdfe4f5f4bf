"""Every quantitative claim of the papers, recomputed."""
