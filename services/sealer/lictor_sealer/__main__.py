"""``python -m lictor_sealer``"""

from lictor_bus.service.service import main
from lictor_sealer.app import make_service

main(make_service)
