"""The collecting halves of the probes: stand-alone, standard library only, Python 3.6 on, never raising."""
