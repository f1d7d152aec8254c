# SPDX-License-Identifier: GPL-2.0-or-later
"""From the comparison to what people and tools read. Each module offers render(comparison) -> str."""
