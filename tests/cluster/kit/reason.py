# SPDX-License-Identifier: Apache-2.0
"""Why a part of the kit cannot run on this machine."""


class CannotRun(Exception):
    """The text says which part, why, and the cure where there is one. Tests that need the part are skipped with it."""
