"""`bayop run`: controllers on live machines, for months. What the file says, what is done to a machine, and when."""
