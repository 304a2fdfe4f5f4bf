"""Idle governors compared by replay: traces of idle periods, tables of idle states, what governors made of them."""
