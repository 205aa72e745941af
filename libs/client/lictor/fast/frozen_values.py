"""Frozen values with named fields. `dataclasses` does more, and costs more than all else that a hook imports."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import dataclass_transform
else:

    def dataclass_transform(**_options):
        """Types only: nothing at run time."""
        return lambda decorated: decorated


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Value:
    """A base: fields are the annotations of the class, given by keyword; nothing changes afterwards."""

    def __init__(self, **given: object) -> None:
        fields = type(self).__annotations__
        for name in fields:
            if name in given:
                object.__setattr__(self, name, given.pop(name))
            elif not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} needs {name}")
        if given:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(given)}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} can't be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} can't be taken away")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in self.to_dict().items())})"
        )

    def to_dict(self) -> "dict[str, object]":
        """The fields by name, in their order."""
        return {name: getattr(self, name) for name in type(self).__annotations__}
