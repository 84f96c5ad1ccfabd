"""Lower bounds of what collectives and sets of copies take on a machine, by linear programs."""
