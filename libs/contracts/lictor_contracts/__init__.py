"""Contracts that bound decisions, as pure functions: one room each for envelope, decision, action, drift, patch, CERPA.

`envelope` judges what was measured of a decision against its Decision Timing Envelope and names the rung of the ladder
that applies. `action` judges a Safe Action Contract before its dispatch and verifies it afterwards. `decision` folds
the log of a governed decision. `drift` names what did not go as agreed and counts its causes; `cerpa` compares claims
with events; `patch` changes packs; `report` measures all of it. Nothing here reads a clock, a file or the network.
Authors of verification methods import from `api`.
"""

__version__ = "0.1.0"
