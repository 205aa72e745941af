"""What can go wrong with contracts, each with a text for people."""


class ContractError(Exception):
    """Root of this library's errors."""


class MethodRefused(ContractError):
    """A verifier may not be used here, or there is none of that name."""


class ExpectationRefused(ContractError):
    """What a verifier should look for can't be read, or would find it in anything."""


class ResultConflict(ContractError):
    """An action that has a result was given another one."""


class MethodUnusable(ContractError):
    """An installed verification method can't be had."""
