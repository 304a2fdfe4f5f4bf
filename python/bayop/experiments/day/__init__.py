"""A day of changing load, played by several strategies on a modelled machine, and the record that it leaves."""
