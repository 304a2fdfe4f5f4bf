"""Two network namespaces of this machine with a real service between them, to sweep and to search."""
