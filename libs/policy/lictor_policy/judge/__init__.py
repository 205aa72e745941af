"""One event judged: the rules that match, the one that wins, the decision."""
