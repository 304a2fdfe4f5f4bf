"""The default optimizer: a Gaussian process around an analytic model of the server, under the SLO as a constraint."""

from bayop.optimize.grey_box.search import GreyBox

__all__ = ["GreyBox"]
