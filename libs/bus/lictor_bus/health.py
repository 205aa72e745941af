"""The former place of `lictor_bus.service.health`, which container health checks name; for one release."""

import sys

from lictor_bus.service.health import main

if __name__ == "__main__":
    sys.stderr.write("lictor: run lictor_bus.service.health instead\n")
    main()
