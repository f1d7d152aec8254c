# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench`: the figures that the project asks of itself, measured and reported as measured, also when they miss."""
