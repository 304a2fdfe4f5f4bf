"""The report of a day on the rig: the default and BayOp side by side, hour by hour."""
