"""Per-interrupt logs: reading and summarising them in constant memory."""
