# not proved: the other keys are still there
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import ages, send_copies


@lictor_layer.guarantee(c.copies_are(['a']))
def main() -> None:
    found = ages()
    found["a"] = 1
    send_copies("bob@example.com", list(found))
