"""C-mv and C-wmv: feature-group models that vote instead of being stacked."""

from __future__ import annotations

import numpy as np

from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.plr_fs import PLRFS


class MajorityVote(PLRFS):
    """C-mv: every block has one vote. Privacy and parameters as PLRFS; voting is post-processing.

    The score is the share of positive votes minus 1/2. Trained on all rows it is given, since it
    has no second layer to save rows for.
    Reference: [Yao2019] section 4.1 (4).
    """

    def _vote_weights(self) -> Floats:
        blocks = len(self.design_.blocks)
        return np.full(blocks, 1 / blocks)

    def _scores(self, X: Floats) -> Floats:
        return np.asarray((self.block_margins(X) > 0) @ self._vote_weights() - 0.5)


class WeightedVote(MajorityVote):
    """C-wmv: block k has q_k votes.

    Reference: [Yao2019] section 4.1 (4).
    """

    def _vote_weights(self) -> Floats:
        return np.array([block.event.norm_bound for block in self.design_.blocks])
