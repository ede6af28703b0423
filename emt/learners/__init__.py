"""The learners of the study, one file each."""

from emt.learners.base import Learner
from emt.learners.cmt import CMT
from emt.learners.emt import EMT
from emt.learners.parametric import Parametric
from emt.learners.pcmt import PCMT
from emt.learners.pemt import PEMT
from emt.learners.vw_emt import VWEMT
from emt.learners.vw_parametric import VWParametric
from emt.learners.vw_pemt import VWPEMT

__all__ = ["CMT", "EMT", "PCMT", "PEMT", "VWEMT", "VWPEMT", "Learner", "Parametric", "VWParametric"]
