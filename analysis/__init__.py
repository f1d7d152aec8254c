# SPDX-License-Identifier: GPL-2.0-or-later
"""From the records of a campaign to verdicts and reports. All statistics of the suite stand here."""
