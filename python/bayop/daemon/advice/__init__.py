"""Mode advise: what a search would find and save, said of a machine that nothing is written to."""
