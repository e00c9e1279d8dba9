"""A kernel as a project of its own, for those who go on in C++: `save_project`.

`launch` has what is saved, `host` the host program, `cmake` the build, `pages` manifest and README,
`folder` what may be written where. May import `tracer`, `lowering` and the rest of `runtime`.
"""

from .folder import save_project
from .launch import Launch

__all__ = ["Launch", "save_project"]
