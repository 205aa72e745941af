"""C2SP signed notes and the statements signed as notes."""
