# SPDX-License-Identifier: Apache-2.0
"""Custom checks: real programs, confined by the configuration."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness

IS_ROOT = os.geteuid() == 0
NOBODYS_USER = 64123  # has no name, and no process but ours


def is_gone(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


class ScriptCase(unittest.TestCase):
    def setUp(self):
        # The folders above a script must belong to root, and others must be able to enter but not to write them.
        folder = tempfile.TemporaryDirectory(prefix="autopilot-scripts-", dir="/var/lib" if IS_ROOT else None)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.state = pathlib.Path(self.folder, "state")
        self.scripts = {}

    def script(self, name, text, mode=0o755, **settings):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(mode)
        self.scripts[name] = {"path": str(path), **settings}
        return path

    def look(self, *arguments, program=(harness.AUTOPILOT,)):
        config = self.folder / "config.yaml"
        config.write_text(json.dumps({"scripts": self.scripts, "state_dir": str(self.state)}))
        ids = [f"custom.{name}" for name in self.scripts]
        answer = subprocess.run(
            [*program, "check", *ids, "--no-agent", "--config", str(config), "--window", "0s", "-o", "json",
             *arguments],
            capture_output=True, text=True, timeout=60, check=False,
        )
        self.assertIn(answer.returncode, (0, 1, 2, 3), answer.stderr)
        return {result["check"].removeprefix("custom."): result for result in json.loads(answer.stdout)["results"]}

    def finding(self, results, name):
        self.assertEqual(len(results[name]["findings"]), 1, results[name])
        return results[name]["findings"][0]

    def notes(self):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-scripts-", dir="/tmp")
        self.addCleanup(folder.cleanup)
        pathlib.Path(folder.name).chmod(0o777)
        notes = pathlib.Path(folder.name, "pids")
        notes.touch()
        notes.chmod(0o666)
        return notes


class ScriptTest(ScriptCase):
    @unittest.skipUnless(IS_ROOT, "needs root: only root can become nobody")
    def test_what_scripts_say_is_what_the_checks_say(self):
        self.folder.chmod(0o755)
        self.script("good", "exit 0")
        self.script("bad", "echo the pump leaks; exit 1")
        self.script("broken", """echo '{"health": "failed", "message": "no water",
                                  "observations": [{"name": "water.level", "value": 0.5, "unit": "m"}]}'""")
        self.script("torn", """echo '{"health": "healthy"}'; exit 2""")
        self.script("blind", "echo no sensor; exit 3")
        self.script("wild", "exit 42")
        self.script("slow", "sleep 30", deadline="1s")
        self.script("killed", "kill -SEGV $$")
        self.script("flood", "head -c 10000000 /dev/zero; exit 1")
        results = self.look()
        self.assertEqual({name: result["health"] for name, result in results.items()}, {
            "good": "healthy", "bad": "degraded", "broken": "failed", "torn": "failed", "blind": "unknown", "wild": "unknown",
            "slow": "unknown", "killed": "unknown", "flood": "degraded"})
        self.assertEqual(self.finding(results, "bad")["message"], "the pump leaks")
        self.assertEqual(self.finding(results, "broken")["reason"], "script_failed")
        self.assertIn("reported healthy, but", self.finding(results, "torn")["message"])
        self.assertEqual(self.finding(results, "slow")["reason"], "timed_out")
        self.assertIn("no sensor", self.finding(results, "blind")["message"])
        self.assertIn("42", self.finding(results, "wild")["message"])

    def test_a_machine_that_is_not_this_one_is_not_looked_at_by_scripts_and_that_is_said(self):
        config = self.folder / "config.yaml"
        config.write_text(json.dumps({"scripts": {"pump": {"path": "/bin/true"}}, "state_dir": str(self.state)}))
        answer = subprocess.run(
            [harness.AUTOPILOT, "check", "--list", "--config", str(config), "--simulate", "no-gpu", "-o", "json"],
            capture_output=True, text=True, timeout=60, check=True)
        items = json.loads(answer.stdout)["items"]
        self.assertNotIn("custom.pump", [item["check"] for item in items])
        self.assertNotIn("health", items[0])
        self.assertIn("scripts of the configuration are skipped", answer.stderr)

    @unittest.skipUnless(IS_ROOT, "needs root: only root can become nobody")
    def test_scripts_have_no_rights_and_no_network_unless_configured(self):
        self.folder.chmod(0o755)
        report = """echo "$(id -un) $(grep CapEff /proc/self/status | tr -d '\\t') $(ls /sys/class/net 2>/dev/null |
                    tr '\\n' ' ') $(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | tr '\\n' ',') $SECRET_TOKEN"; exit 1"""
        self.script("closed", report)
        self.script("open", report, network=True)
        os.environ["SECRET_TOKEN"] = "secret"
        self.addCleanup(os.environ.pop, "SECRET_TOKEN")
        results = self.look()
        closed, opened = (self.finding(results, name)["message"] for name in ("closed", "open"))
        self.assertTrue(closed.startswith("nobody CapEff:0000000000000000"), closed)
        self.assertNotIn("secret", closed + opened)
        self.assertTrue(closed.split()[-1] == "lo,", closed)
        self.assertNotEqual(opened.split()[-1], "lo,", opened)

    @unittest.skipUnless(IS_ROOT, "needs root: files of another owner")
    def test_a_script_that_others_can_change_is_never_run(self):
        self.folder.chmod(0o755)
        marker = self.folder / "ran"
        run = f"touch {marker}; exit 0"
        self.script("writable", run, mode=0o777, user="root")
        os.chown(self.script("foreign", run, user="root"), 12345, 12345)
        target = self.script("target", "exit 0", user="root")
        (self.folder / "link").symlink_to(target)
        self.scripts["link"] = {"path": str(self.folder / "link"), "user": "root"}
        self.script("plain", run, mode=0o644, user="root")
        results = self.look()
        for name, word in (("writable", "chmod go-w"), ("foreign", "chown"), ("link", "link"), ("plain", "chmod +x")):
            self.assertEqual(results[name]["health"], "unknown", results[name])
            self.assertIn(word, self.finding(results, name)["message"])
        self.assertEqual(results["target"]["health"], "healthy")
        self.assertFalse(marker.exists())

    @unittest.skipUnless(IS_ROOT, "needs root: only root can become nobody")
    def test_an_unknown_user_is_an_error_that_names_it(self):
        self.folder.chmod(0o755)
        self.script("who", "exit 0", user="nosuchuser")
        self.assertIn("nosuchuser", self.finding(self.look(), "who")["message"])

    @unittest.skipUnless(IS_ROOT, "needs root: only root can become nobody")
    def test_what_a_script_leaves_running_dies_with_it_and_at_its_deadline(self):
        self.folder.chmod(0o755)
        notes = {name: self.notes() for name in ("ends", "slow")}

        def leave(name):
            note = notes[name]
            return (f"setsid sleep 1000 & echo $! >> {note}; setsid sh -c 'sleep 1000 & echo $! >> {note}; wait' & "
                    f"while [ $(wc -l < {note}) -lt 2 ]; do sleep 0.01; done; ")

        self.script("ends", leave("ends") + "exit 0")
        self.script("slow", leave("slow") + "sleep 1000", deadline="3s")
        results = self.look()
        self.assertEqual((results["ends"]["health"], results["slow"]["health"]), ("healthy", "unknown"))
        pids = [pid for note in notes.values() for pid in note.read_text(encoding="ascii").split()]
        self.assertEqual(len(pids), 4)
        self.assertEqual([pid for pid in pids if not is_gone(pid)], [])

    @unittest.skipUnless(IS_ROOT, "needs root: only root can become nobody")
    def test_a_script_dies_with_an_agent_that_is_killed(self):
        self.folder.chmod(0o755)
        notes = self.notes()
        self.script("slow", f"echo $$ >> {notes}; setsid sleep 1000 & echo $! >> {notes}; sleep 1000", deadline="10m")
        config = self.folder / "config.yaml"
        config.write_text(json.dumps({"scripts": self.scripts}))
        with harness.Agent("--config", str(config)) as agent:
            harness.wait_until(lambda: len(notes.read_text(encoding="ascii").split()) == 2, "the script runs")
            agent.process.stop(signal.SIGKILL)
            for pid in notes.read_text(encoding="ascii").split():
                harness.wait_until(lambda pid=pid: is_gone(pid), "it is gone")


@unittest.skipUnless(IS_ROOT and shutil.which("setpriv") and os.path.exists("/usr/bin/python3"),
                     "needs root, setpriv to become another user with one right, and the python of the system")
class OwnUserTest(ScriptCase):
    """Scripts of an agent that is not root, but can read the kernel log."""

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.state.mkdir()
        os.chown(self.state, NOBODYS_USER, NOBODYS_USER)
        self.program = shutil.copy(harness.AUTOPILOT, self.folder)

    def look_as_user(self):
        return self.look(program=["setpriv", f"--reuid={NOBODYS_USER}", f"--regid={NOBODYS_USER}", "--clear-groups",
                                  "--inh-caps=+syslog", "--ambient-caps=+syslog", self.program])

    def say(self, name, text, **settings):
        self.script(name, f"echo \"$({text})\"; exit 1", user=str(NOBODYS_USER), **settings)

    def test_it_is_refused_unless_the_user_is_named(self):
        self.script("other", "exit 0")
        self.script("own", "exit 0", user=str(NOBODYS_USER))
        results = self.look_as_user()
        self.assertEqual((results["other"]["health"], results["own"]["health"]), ("unknown", "healthy"))
        message = self.finding(results, "other")["message"]
        self.assertIn("nobody", message)
        self.assertIn(f'user: "{NOBODYS_USER}"', message)

    def test_it_has_no_right_of_the_agent(self):
        other = subprocess.Popen(["sleep", "1000"], env={"SECRET": "secret"}, user=NOBODYS_USER, group=NOBODYS_USER,
                                 extra_groups=[])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        self.say("rights", "grep -hE 'Cap(Inh|Prm|Eff|Amb)' /proc/self/status | cut -f 2 | tr '\\n' ' '")
        self.say("spy", f"cat /proc/{other.pid}/environ /proc/self/environ 2>&1 | tr '\\0\\n' '  '")
        self.say("write", f"echo > {self.state}/journal.db; touch {self.state}/new; rm -rf {self.state}; ls -d {self.state}")
        self.say("temporary", 'f=$(mktemp) && echo kept > "$f" && cat "$f" && rm "$f"')
        for kind, network in (("UNIX", True), ("INET", True), ("INET", False), ("UNIX", False)):
            self.say(f"{kind}_{network}".lower(), f"/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_{kind}); print(1)' 2>&1 | tail -n 1",
                     network=network)
        said = {name: self.finding(self.look_as_user(), name)["message"] for name in self.scripts}
        self.assertEqual(said["rights"].split(), ["0" * 16] * 4)
        self.assertIn("denied", said["spy"])
        self.assertRegex(said["spy"], "PATH=[^ ]* ")
        self.assertNotIn("secret", said["spy"])
        self.assertEqual(said["write"], str(self.state))
        self.assertEqual(list(self.state.iterdir()), [])
        self.assertEqual(said["temporary"], "kept")
        self.assertEqual(said["inet_true"], "1")
        for refused in ("unix_true", "unix_false", "inet_false"):
            self.assertIn("Permission denied", said[refused])

    def test_what_it_leaves_running_dies_with_it(self):
        notes = self.notes()
        self.script("slow", f"setsid sleep 1000 & echo $! >> {notes}; sleep 1000", user=str(NOBODYS_USER), deadline="2s")
        self.assertEqual(self.look_as_user()["slow"]["health"], "unknown")
        self.assertTrue(is_gone(notes.read_text(encoding="ascii").strip()))


if __name__ == "__main__":
    unittest.main()
