"""The page of `bayop run`, what stands behind it, and the server that both come from."""
