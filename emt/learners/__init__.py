"""The learners of the study, one file each; those on Vowpal Wabbit (``VW...``) load it when they are made."""

from emt.learners.audited import AuditedEMT
from emt.learners.base import Learner
from emt.learners.cmt import CMT
from emt.learners.emt import EMT
from emt.learners.knn import KNN
from emt.learners.parametric import Parametric
from emt.learners.pcmt import PCMT
from emt.learners.pcmt_plus import PCMTPlus
from emt.learners.pemt import PEMT
from emt.learners.pemt_plus import PEMTPlus
from emt.learners.ridge import LinUCB, Ridge
from emt.learners.vw import VWCMT, VWEMT, VWPCMT, VWPEMT, VWParametric

__all__ = [
    "CMT",
    "EMT",
    "KNN",
    "PCMT",
    "PEMT",
    "VWCMT",
    "VWEMT",
    "VWPCMT",
    "VWPEMT",
    "AuditedEMT",
    "Learner",
    "LinUCB",
    "PCMTPlus",
    "PEMTPlus",
    "Parametric",
    "Ridge",
    "VWParametric",
]
