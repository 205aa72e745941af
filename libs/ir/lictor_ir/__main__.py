"""``python -m lictor_ir check CERT…``"""

import sys

from lictor_ir.certificate.command import main

sys.exit(main(sys.argv[1:]))
