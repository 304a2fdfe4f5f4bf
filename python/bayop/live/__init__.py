"""A live search as one piece: the file that describes it, and a whole testbed on this machine to try it on."""
