"""The learners on Vowpal Wabbit (VW): references for the compiled ones.

Making one of them loads VW, which the extra ``emt[vw]`` brings; importing this package does not.
"""

from emt.learners.vw.cmt import VWCMT
from emt.learners.vw.emt import VWEMT
from emt.learners.vw.parametric import VWParametric
from emt.learners.vw.pcmt import VWPCMT
from emt.learners.vw.pemt import VWPEMT

__all__ = ["VWCMT", "VWEMT", "VWPCMT", "VWPEMT", "VWParametric"]
