"""Certificates: what a `proved` rests on, in a file that can be checked without a solver and without the program.

`lictor_ir.certificate.format` is the file, `lictor_ir.certificate.check` the checker, `lictor_ir.certificate.cpc` the
kernel that goes through proofs step by step.
"""
