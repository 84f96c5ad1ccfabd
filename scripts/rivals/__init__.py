"""Collectives beside other libraries: the parts of scripts/collective_rivals.py."""
