"""Goals lowered to Z3 and SMT-LIB, and the answers of solvers."""
