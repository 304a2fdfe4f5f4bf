"""A machine behind its agent, as a target: its senses and spaces, and the file that describes a live search."""
