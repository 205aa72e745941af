# refuted: the default has another age
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import everybody, pay

import lictor_layer


@lictor_layer.guarantee(c.each_at_most(10))
def main() -> None:
    age = next((user.age for user in everybody() if user.age <= 10), 11)
    pay("a", age)
