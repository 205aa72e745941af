"""Contracts that bound decisions, as pure functions: timing, degrading, acting, verifying, drifting, learning.

`envelope` judges what was measured of a decision against its Decision Timing Envelope, `ladder` says what is done
instead when it does not hold, `acting` judges a Safe Action Contract before its dispatch, and `verifying` what
followed from it. `life` moves an episode through its states. `drift` names what did not go as agreed, `recurrence`
counts its causes, and `cerpa` holds claims against events and turns what it finds into patches. Nothing here reads a
clock, a file or the network.
"""

__version__ = "0.1.0"
