"""The learners of the study, one file each; those on Vowpal Wabbit (``VW...``) load it when they are made."""

from emt.learners.base import Learner
from emt.learners.cmt import CMT
from emt.learners.emt import EMT
from emt.learners.parametric import Parametric
from emt.learners.pcmt import PCMT
from emt.learners.pemt import PEMT
from emt.learners.vw import VWCMT, VWEMT, VWPCMT, VWPEMT, VWParametric

__all__ = ["CMT", "EMT", "PCMT", "PEMT", "VWCMT", "VWEMT", "VWPCMT", "VWPEMT", "Learner", "Parametric", "VWParametric"]
