"""The frameworks that are looked at, in the order in which they are told of; apart, to be asked for cheaply."""

FRAMEWORKS = ("tensorflow", "torch", "jax", "paddle")
