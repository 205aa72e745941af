"""The stage: runs the original program with stand-ins for trusted calls, in a process that can reach nothing else."""
