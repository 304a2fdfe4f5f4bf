"""The analytic model of power and latency, as published and as BayOp has it, fitted to studies."""
