"""Many machines at once: what they have in common, what is wrong how often, and what sets some apart. Pure.

A `Machine` is what is kept of one document, a `Summary` what is kept of all: sums of a bounded size, to which
machines are added one by one, in any order.
"""
