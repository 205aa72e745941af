"""``python -m lictor_rehearser``"""

from lictor_bus.service.service import main
from lictor_rehearser.app import make_service

main(make_service)
