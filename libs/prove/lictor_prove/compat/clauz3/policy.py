"""Domain policies."""

from lictor_layer import DomainPolicy, domain_policy

__all__ = ["DomainPolicy", "domain_policy"]
