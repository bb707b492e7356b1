"""What the C++ side raises."""


class Error(RuntimeError):
    """A job, a session or a file failed; the message names what, and what to do."""


class InvalidError(Error, ValueError):
    """What was given is not allowed: a graph, a shape, a type, an option."""


class NotFoundError(Error, KeyError):
    """There is no file, function or variable of this name."""

    def __str__(self):  # a KeyError shows its message in quotes
        return str(self.args[0])
