"""The frameworks that are looked at, in the order in which they are told of; apart, as all ask for them."""

FRAMEWORKS = ("tensorflow", "torch", "jax", "paddle")
