"""Lines in a wording that no symptom knows: which known message each of them says in other words. Pure."""
