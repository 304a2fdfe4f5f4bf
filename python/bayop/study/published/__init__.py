"""The layouts in which the papers' authors, and others, published their tables of trials."""
