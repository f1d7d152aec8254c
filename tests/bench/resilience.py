# SPDX-License-Identifier: GPL-2.0-or-later
"""What random kills cost a campaign: it should be nothing."""
import os

from tests.bench.core import figure
from tests.soak import soak


@figure("soak", "faults", "records lost, records wrong and things left over after 100 random kills (SOAK_KILLS)", at_most=0, long=True)
def random_kills():
    result = soak(int(os.environ.get("SOAK_KILLS", "100")))
    return (result["lost"] + result["wrong"] + result["left"],
            f"{sum(result['kills'].values())} kills, {result['campaigns']} campaigns, {result['records']} records: {result['lost']} lost, "
            f"{result['wrong']} wrong, {result['left']} leftovers" + (f"; {result['notes'][0]}" if result["notes"] else ""))
