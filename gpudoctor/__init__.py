"""gpudoctor finds out why a framework does not use the GPU, and says what to do about it."""

__version__ = "0.1.0"
