"""``python -m lictor_feedback``"""

from lictor_bus.service.service import main
from lictor_feedback.app import make_service

main(make_service)
