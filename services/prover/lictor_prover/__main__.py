"""``python -m lictor_prover``"""

from lictor_bus.service.service import main
from lictor_prover.app import make_service

main(make_service)
