"""The digital twin: profiles of servers, how well they fit measurements, and the twin as target and as machine."""
