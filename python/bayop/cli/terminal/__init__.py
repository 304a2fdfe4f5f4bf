"""What every verb needs of a terminal: streams, signals, tables, exit codes."""
