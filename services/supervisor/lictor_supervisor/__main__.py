"""``python -m lictor_supervisor``"""

from lictor_bus.service.service import main
from lictor_supervisor.app import make_service

main(make_service)
