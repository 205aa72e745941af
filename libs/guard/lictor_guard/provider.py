"""Where authors of feedback providers imported from before `lictor_guard.api` existed."""

from lictor_guard.former_names import served_by_api

__getattr__ = served_by_api(__name__)
