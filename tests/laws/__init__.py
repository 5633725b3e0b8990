"""Laws: what holds for every snapshot, every rule and every answer, tried on thousands of made-up ones."""
