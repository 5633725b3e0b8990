"""Ways to run the payload where the trouble is."""
