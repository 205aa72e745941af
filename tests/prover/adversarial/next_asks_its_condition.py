# proved: the one that is found is of age
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import everybody, pay

import lictor_layer


@lictor_layer.guarantee(c.each_at_most(10))
def main() -> None:
    found = next((user for user in everybody() if user.age <= 10), None)
    if found is not None:
        pay("a", found.age)
