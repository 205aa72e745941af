"""``python -m lictor_runner``"""

from lictor_bus.service.service import main
from lictor_runner.app import make_service

main(make_service)
