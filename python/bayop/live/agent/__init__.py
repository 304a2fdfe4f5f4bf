"""Talking to `bayop-agent`, the privileged daemon on a server: its address, its messages, and the lease on it."""
