"""The rules of policy packs in other engines' languages, to compare answers and speed with."""
