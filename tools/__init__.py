"""Scripts that maintain the rule database; none of them is part of the package."""
