"""What a search tunes: machines with one service, real or modelled, behind one contract."""
