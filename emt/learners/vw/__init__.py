"""The learners on Vowpal Wabbit (VW): references for the compiled ones.

Importing this package loads VW; `emt.learners` does so only when one of them is asked for.
"""

from emt.learners.vw.cmt import VWCMT
from emt.learners.vw.emt import VWEMT
from emt.learners.vw.parametric import VWParametric
from emt.learners.vw.pcmt import VWPCMT
from emt.learners.vw.pemt import VWPEMT

__all__ = ["VWCMT", "VWEMT", "VWPCMT", "VWPEMT", "VWParametric"]
