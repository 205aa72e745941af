"""``python -m lictor_approvals``"""

from lictor_approvals.app import make_service
from lictor_bus.service.service import main

main(make_service)
