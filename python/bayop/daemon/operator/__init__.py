"""An operator's word to `bayop run`: a Unix socket beside its state, for the user that runs it and for root."""
