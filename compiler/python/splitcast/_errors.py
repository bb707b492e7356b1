"""The exceptions that C++ raises."""


class Error(RuntimeError):
    """A job, a session or a file failed; the message says what failed and what to do."""


class InvalidError(Error, ValueError):
    """An argument is not allowed: a graph, a shape, a type, an option."""


class NotFoundError(Error, KeyError):
    """There is no file, function or variable of this name."""

    def __str__(self) -> str:  # KeyError's own puts the message in quotes
        return str(self.args[0])
