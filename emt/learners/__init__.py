"""The learners of the study, one file each; those on Vowpal Wabbit (``VW...``) load it when they are asked for."""

from typing import TYPE_CHECKING, Any

from emt.learners.base import Learner
from emt.learners.cmt import CMT
from emt.learners.emt import EMT
from emt.learners.parametric import Parametric
from emt.learners.pcmt import PCMT
from emt.learners.pemt import PEMT

if TYPE_CHECKING:
    from emt.learners.vw import VWCMT, VWEMT, VWPCMT, VWPEMT, VWParametric

__all__ = ["CMT", "EMT", "PCMT", "PEMT", "VWCMT", "VWEMT", "VWPCMT", "VWPEMT", "Learner", "Parametric", "VWParametric"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from emt.learners import vw

        return getattr(vw, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
