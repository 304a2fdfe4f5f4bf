"""Logs with one record per interrupt, as intlog writes them: read in constant memory, summarised exactly, mergeable."""
