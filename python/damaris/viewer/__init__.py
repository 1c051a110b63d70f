"""The viewer: a server on this machine, and its page."""
