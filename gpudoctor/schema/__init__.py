"""JSON Schemas of what gpudoctor prints; written by `make schemas`."""
