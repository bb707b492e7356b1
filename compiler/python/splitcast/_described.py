"""What repr() says of the extension's objects."""
from __future__ import annotations

import math

from splitcast import _splitcast


def session(of: _splitcast.Session) -> str:
    """It is taken from the plan, without the other ranks."""
    elements = sum(math.prod(shape) for _, shape in of.variables.values())
    return (f"<splitcast.Session: functions {', '.join(of.functions)}; {len(of.variables)} variables of {elements:,} "
            f"elements; rank {_splitcast.rank()} of {_splitcast.size()}>")
