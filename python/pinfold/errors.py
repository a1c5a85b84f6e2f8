"""What can go wrong, with the words of the program `pinfold`."""


class Error(Exception):
    """Everything below."""


class ConfigError(Error):
    """A configuration, an option or a sweep is wrong: what the program ends with code 2 for."""


class TraceError(Error):
    """A trace or another file is wrong, or cannot be read or written: code 1."""


class _Ended(Error):
    """The run ended early; `result` has the figures up to there."""

    def __init__(self, text, result=None):
        super().__init__(text)
        self.result = result


class Stall(_Ended):
    """Nothing can go on: code 3."""


class Violation(_Ended):
    """An invariant of ownership broke: code 3."""
