# SPDX-License-Identifier: GPL-2.0-or-later
import sys

from analysis.cli import main

sys.exit(main(sys.argv[1:]))
