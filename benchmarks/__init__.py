"""How fast gpudoctor is, beside other programs on the same machine: `python -m benchmarks`; see README.md."""
