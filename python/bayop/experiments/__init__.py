"""What is played on which machines: days, many servers, sweeps, a NIC's delays, a rig of namespaces."""
