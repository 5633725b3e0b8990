"""The frameworks that are looked at, in the order in which they are told of. To ask for them imports nothing."""

FRAMEWORKS = ("tensorflow", "torch", "jax", "paddle")
