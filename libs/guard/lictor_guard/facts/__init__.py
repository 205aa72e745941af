"""What is known of a session, fact by fact."""

from lictor_guard.former_names import served_by_api

__getattr__ = served_by_api(__name__)
