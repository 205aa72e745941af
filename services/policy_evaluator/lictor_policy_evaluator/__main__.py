"""``python -m lictor_policy_evaluator``"""

from lictor_bus.service.service import main
from lictor_policy_evaluator.app import make_service

main(make_service)
