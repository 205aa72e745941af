"""Lowering of goals to Z3 and SMT-LIB, and the answers."""
