"""A machine before it is tuned: what can run there, its first configuration, a recording of it, a test of its knobs."""
