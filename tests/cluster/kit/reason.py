# SPDX-License-Identifier: Apache-2.0
"""Why a part of the kit cannot run on this machine."""


class CannotRun(Exception):
    """The text names the part, the reason, and the remedy if there is one. Tests that need the part are skipped with this text."""
