# SPDX-License-Identifier: Apache-2.0
"""Cross-compiles the programs for arm64, and runs them in an emulator."""

import junit
from stage import ROOT, Outcome, Run, one, skip

CANNOT_RUN = 77
# Commands, and a word of their required output. The second starts a helper that loads the simulated driver; checks that cannot
# run leave the machine without a verdict.
SHOWN = ((["version"], ", Release)"), (["check", "--simulate", "hgx-h100-8"], "verdict PASS"))


def _show(run: Run, arguments: list[str], said: str) -> Outcome:
    what = " ".join(["autopilot", *arguments])
    program = ROOT / "build" / "arm64" / "bin" / "autopilot"
    status = run.command([ROOT / "tools" / "run-arm64.sh", program, *arguments], 300)
    if status == CANNOT_RUN:
        return skip(f"{what}: {junit.skip_reason(run.log.read_text())}")
    ran = status == 0 and said in run.log.read_text()
    return one(ran, f"{'ran' if ran else 'failed'}: {what}")


def arm64(run: Run) -> Outcome:
    status = run.command([ROOT / "tools" / "sysroot.sh"], 900)
    if status == CANNOT_RUN:
        return skip(junit.skip_reason(run.log.read_text()))
    if status != 0:
        return one(False, "the libraries for arm64 could not be unpacked")
    # The catalog compiler runs on this machine.
    for preset, target in (("release", "autopilot_catalog_compiler"), ("arm64", "programs")):
        if run.command(["cmake", "--preset", preset], 300) != 0:
            return one(False, f"cmake could not configure {preset}")
        build = ["cmake", "--build", "--preset", preset, "-j", run.options.jobs, "--target", target]
        if run.command(build, 3000) != 0:
            return one(False, f"{target} does not build with the preset {preset}")
    total = one(True, "built: the programs")
    for arguments, said in SHOWN:
        total.add(_show(run, arguments, said))
    return total
