"""`lictor hook`: the hooks of Claude Code."""
