"""Policies, providers and checkers from installed packages, found by their entry points.

A package names a factory `(name, settings) -> object` under one of the groups below. What a factory makes is checked
for the methods it must have, and the package and its version become part of the definition's hash: the same document
with another version of the plugin is another definition.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, cast

from lictor_guard.errors import DefinitionError, Place, Problem
from lictor_guard.plugins.completion_checker import CompletionChecker
from lictor_guard.plugins.feedback_provider import FeedbackProvider
from lictor_guard.plugins.tool_policy import ToolPolicy
from lictor_policy.errors import nearest
from lictor_schema.sessions.tool_policy import PluginSpec

Role = Literal["policy", "provider", "checker"]
Factory = Callable[[str, Mapping[str, Any]], object]

GROUPS: Mapping[Role, str] = {
    "policy": "lictor.tool_policies",
    "provider": "lictor.feedback_providers",
    "checker": "lictor.completion_checkers",
}
"""The entry point group of each role."""
_PROTOCOLS: Mapping[Role, type] = {
    "policy": ToolPolicy,
    "provider": FeedbackProvider,
    "checker": CompletionChecker,
}
_ERROR_TEXT = 500


@dataclass(frozen=True)
class Plugin:
    """A factory and where it comes from."""

    load: Callable[[], Factory]
    stamp: str
    """`<distribution>==<version>`"""


@dataclass(frozen=True)
class WantedPlugin:
    """A plugin that a definition asks for, and where it does."""

    role: Role
    place: Place
    spec: PluginSpec


@dataclass(frozen=True)
class MadePlugins:
    """What the plugins of one definition made, and what went wrong."""

    objects: Mapping[tuple[Role, str], object]
    stamps: Mapping[str, str]
    """By role and plugin (`policy:my-policy`), the package and version it came from."""
    problems: tuple[Problem, ...]

    def policy(self, spec: PluginSpec) -> ToolPolicy:
        """The policy that was made for a part of the definition."""
        return cast(ToolPolicy, self.objects["policy", spec.name])

    def provider(self, spec: PluginSpec) -> FeedbackProvider:
        """The provider that was made for a part of the definition."""
        return cast(FeedbackProvider, self.objects["provider", spec.name])

    def checker(self, spec: PluginSpec) -> CompletionChecker:
        """The checker that was made for a part of the definition."""
        return cast(CompletionChecker, self.objects["checker", spec.name])


@dataclass(frozen=True)
class Plugins:
    """The plugins there are, by name."""

    policies: Mapping[str, Plugin] = field(default_factory=dict[str, Plugin])
    providers: Mapping[str, Plugin] = field(default_factory=dict[str, Plugin])
    checkers: Mapping[str, Plugin] = field(default_factory=dict[str, Plugin])

    @staticmethod
    def installed() -> "Plugins":
        """Those of the installed packages; looked for once."""
        return _installed()

    def make(self, wanted: Iterable[WantedPlugin]) -> MadePlugins:
        """Let each plugin make what a definition asks for; what fails is reported with its place."""
        of_role: Mapping[Role, Mapping[str, Plugin]] = {
            "policy": self.policies,
            "provider": self.providers,
            "checker": self.checkers,
        }
        objects: dict[tuple[Role, str], object] = {}
        stamps: dict[str, str] = {}
        problems: list[Problem] = []
        for each in wanted:
            known = of_role[each.role]
            plugin = known.get(each.spec.plugin)
            if plugin is None:
                hint = nearest(each.spec.plugin, known)
                told = f"no installed package has the {each.role} {each.spec.plugin!r}; {hint}"
                problems.append(Problem((*each.place, "plugin"), told))
                continue
            try:
                objects[each.role, each.spec.name] = _made(each, plugin)
            except DefinitionError as error:
                problems.append(Problem(each.place, str(error)))
            stamps[f"{each.role}:{each.spec.plugin}"] = plugin.stamp
        return MadePlugins(objects, stamps, tuple(problems))


@cache
def _installed() -> Plugins:
    return Plugins(
        policies=_found(GROUPS["policy"]),
        providers=_found(GROUPS["provider"]),
        checkers=_found(GROUPS["checker"]),
    )


def _found(group: str) -> dict[str, Plugin]:
    return {point.name: Plugin(point.load, _stamp(point)) for point in entry_points(group=group)}


def _stamp(point: EntryPoint) -> str:
    return "unknown" if point.dist is None else f"{point.dist.name}=={point.dist.version}"


def _made(wanted: WantedPlugin, plugin: Plugin) -> object:
    spec = wanted.spec
    told = f"plugin {spec.plugin!r} of {plugin.stamp}"
    try:
        made = plugin.load()(spec.name, spec.settings)
    except Exception as error:
        # It may raise anything, and often because of its settings.
        text = str(error)[:_ERROR_TEXT]
        raise DefinitionError(f"{told} can't be made: {type(error).__name__}: {text}") from error
    protocol = _PROTOCOLS[wanted.role]
    if not isinstance(made, protocol):
        raise DefinitionError(
            f"{told} made a {type(made).__name__}, which is no {protocol.__name__}"
        )
    # Facts, cadences and records go by the name in the definition.
    if getattr(made, "name", spec.name) != spec.name:
        raise DefinitionError(f"{told} must take the name it is given, {spec.name!r}")
    return made
