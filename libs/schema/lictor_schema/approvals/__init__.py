"""Approvals: the request, the policy that decides, the run."""
