"""A live search as one piece: the file that describes it, and a whole rig on this machine to try it on."""
