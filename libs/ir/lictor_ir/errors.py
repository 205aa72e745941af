"""The errors of this library; every message says what was wrong, where, and what to do."""


class IrError(Exception):
    """Root of every error that lictor_ir raises on purpose."""


class TermError(IrError):
    """A term can't be built: an operator got operands that it has no meaning for."""


class DocumentError(IrError):
    """A document breaks a rule of the format; the message begins with the path of the part that does."""


class FormError(IrError):
    """Bytes or text are not a form of an Effect IR document."""


class PlacedError(FormError):
    """A text can't be read at one place; lines and columns count from 1."""

    def __init__(self, what: str, line: int, column: int, offset: int) -> None:
        super().__init__(f"line {line}, column {column}: {what}")
        self.what = what
        self.line = line
        self.column = column
        self.offset = offset
        """Characters before it."""


class UnspecifiedError(IrError):
    """A term has no value there: the format leaves it open, so nothing may depend on it."""


class UnknownError(UnspecifiedError):
    """A term rests on what the document declares unknown, and on nothing else that is open."""


class UntriedError(UnspecifiedError):
    """Everything that a run shows of a contract holds; the rest is about keys that no run sets."""


class DifferenceError(IrError):
    """A program does something else than its document says."""


class BrokenPromiseError(DifferenceError):
    """A trusted call returned what its document says that it does not."""


class TooManyWaysError(DifferenceError):
    """Nothing that was followed fits a run, and not everything was: it may be one of its document all the same."""


class UnsupportedError(IrError):
    """A formula can't be lowered for a solver; what depends on it is `unknown`, never `proved`."""


class CertificateError(IrError):
    """A certificate does not show what it claims; what it is about counts as not proved."""
