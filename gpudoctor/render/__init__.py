"""Reports as bytes: one module per format."""
