# SPDX-License-Identifier: Apache-2.0
"""`kubectl autopilot`, which is the same program by another name, against something in the place of an API server."""

import datetime
import json
import os
import pty
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

import harness
from fake_api_server import EVENTS, NODES, REPORTS, FakeApiServer, write_kubeconfig

PREFIX = "autopilot.ibm.com"
PLANS = REPORTS.replace("nodehealthreports", "remediationplans")


def ago(**times):
    moment = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(**times)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def report(name, word="PASS", health="healthy", observed=None, **status):
    return {"apiVersion": f"{PREFIX}/v1alpha1", "kind": "NodeHealthReport", "metadata": {"name": name},
            "status": {"observedAt": observed or ago(seconds=20), "bootId": "b", "simulated": False, "health": health,
                       "written": {"verdict": word, "evicting": []} if word else {"evicting": []},
                       "coverage": {"looked": 30, "of": 31, "summary": "30 of 31", "missingRights": ["CAP_SYSLOG"]}, **status}}


def node(name, word=None, checked=None, summary="", conditions=()):
    annotations = {f"{PREFIX}/summary": summary, **({f"{PREFIX}/checked-at": checked} if checked else {})}
    return {"kind": "Node", "metadata": {"name": name, "labels": {f"{PREFIX}/gpuhealth": word} if word else {}, "annotations": annotations},
            "status": {"conditions": list(conditions)}}


def event(name, reason, last, component="autopilot-agent", kind="Node", **more):
    return {"metadata": {"name": f"{name}.1"}, "involvedObject": {"kind": kind, "name": name}, "reason": reason, "type": "Warning",
            "message": f"{reason} of {name}", "lastTimestamp": last, "firstTimestamp": last, "count": 1,
            "reportingComponent": component, **more}


INCIDENT = {"id": "0a1b-1", "state": "open", "check": "gpu.xid", "reason": "xid", "blamed": {"kind": "gpu", "key": "0000:3b:00.0"},
            "health": "failed", "action": "power_cycle", "summary": "the GPU is lost", "opened": ago(hours=2), "acknowledged": False}


class KubectlPluginTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-")))
        for name in ("kubectl-autopilot", "kubectl_complete-autopilot"):
            (self.folder / name).symlink_to(os.path.abspath(harness.AUTOPILOT))
        self.server = FakeApiServer()
        self.addCleanup(self.server.close)
        self.kubeconfig = write_kubeconfig(self.folder / "config", {"here": self.server.url}, "here", {"token": "s3cret"})
        self.environment = {**os.environ, "KUBECONFIG": self.kubeconfig, "HOME": str(self.folder),
                            "PATH": f"{self.folder}:{os.environ['PATH']}"}

    def run_plugin(self, *arguments, program="kubectl-autopilot", **environment):
        return subprocess.run([str(self.folder / program), *arguments], capture_output=True, text=True, timeout=60, check=False,
                              env={**self.environment, **environment})

    def table(self, *arguments, code=0):
        answer = self.run_plugin(*arguments)
        self.assertEqual(answer.returncode, code, answer.stderr)
        return answer.stdout

    def json(self, *arguments, code=0):
        return json.loads(self.table(*arguments, "-o", "json", code=code))

    def refused(self, *arguments, code, **environment):
        answer = self.run_plugin(*arguments, **environment)
        self.assertEqual(answer.returncode, code, answer.stderr + answer.stdout)
        self.assertEqual(answer.stdout, "")
        return answer.stderr

    def put_fleet(self):
        self.server.objects[REPORTS] = [
            report("gpu-1"), report("gpu-2", "WARN", "degraded", worstIncident="a row remap waits"),
            report("gpu-3", "EVICT", "failed", worstIncident="the GPU is lost", incidents=[INCIDENT], incidentsLeftOut=2,
                   checks=[{"check": "gpu.xid", "health": "failed", "required": True, "message": "gpu/0000:3b:00.0: Xid 79"},
                           {"check": "host.clock", "health": "healthy", "required": True}]),
            report("gpu-4", "PASS", observed=ago(minutes=16)), report("cpu-1", None), report("sim-1", "PASS", simulated=True)]
        self.server.objects[NODES] = [
            node("gpu-1", "PASS", ago(seconds=30)),
            node("gpu-3", "EVICT", ago(seconds=10), conditions=[
                {"type": "GpuHealthy", "status": "False", "reason": "Failed", "message": "gpu: Xid 79", "lastTransitionTime": ago(hours=2)},
                {"type": "Ready", "status": "True", "reason": "KubeletReady"}]),
            node("gpu-5", "PASS", ago(hours=3)), node("gpu-6", "TESTING", ago(minutes=1), "a deep test runs"), node("gpu-7", "PASS")]

    def test_nodes_are_as_they_were_told_last_and_unknown_when_that_is_old(self):
        self.put_fleet()
        items = {item["node"]: item for item in self.json("nodes")["items"]}
        self.assertEqual({name: (item.get("verdict"), item["health"]) for name, item in items.items()}, {
            "gpu-1": ("PASS", "healthy"), "gpu-2": ("WARN", "degraded"), "gpu-3": ("EVICT", "failed"),
            "gpu-4": ("UNKNOWN", "unknown"), "gpu-5": ("UNKNOWN", "unknown"), "gpu-6": ("TESTING", "unknown"),
            "gpu-7": ("UNKNOWN", "unknown"), "cpu-1": (None, "healthy"), "sim-1": ("PASS", "healthy")})
        self.assertEqual(items["gpu-4"]["lastVerdict"], "PASS")
        self.assertEqual(items["gpu-1"]["looked"], "30 of 31")
        self.assertTrue(items["sim-1"]["simulated"])
        self.assertNotIn("checked", items["gpu-7"])

    def test_the_table_of_nodes_fits_the_terminal(self):
        self.put_fleet()
        lines = self.table("nodes").splitlines()
        self.assertEqual(lines[0].split(), ["NODE", "VERDICT", "HEALTH", "CHECKED", "WORST"])
        self.assertRegex("\n".join(lines), r"gpu-3 +EVICT +failed +\d+s +the GPU is lost")
        self.assertRegex("\n".join(lines), r"gpu-4 +UNKNOWN +unknown +16m +no report for 16m")
        self.assertRegex("\n".join(lines), r"sim-1 +PASS +healthy +\d+s +\[SIMULATED\]")
        self.assertTrue(all(len(line) <= 80 for line in lines), lines)

    def test_what_is_asked_is_small_and_says_by_whom(self):
        self.put_fleet()
        self.table("nodes")
        self.assertEqual([path for path, _, _ in self.server.asked], [REPORTS, NODES])
        self.assertEqual(self.server.asked_for(NODES), [{"labelSelector": f"{PREFIX}/gpuhealth", "limit": "500"}])
        headers = self.server.asked[0][2]
        self.assertEqual(headers["Authorization"], "Bearer s3cret")
        self.assertRegex(headers["User-Agent"], "^kubectl-autopilot/")

    def test_a_long_list_comes_in_pages(self):
        self.server.objects[REPORTS] = [report(f"gpu-{number:03}") for number in range(250)]
        self.assertEqual(len(self.json("nodes")["items"]), 250)
        self.assertEqual([query.get("continue") for query in self.server.asked_for(REPORTS)], [None, "100", "200"])

    def test_a_list_without_an_end_is_given_up(self):
        self.server.raw[REPORTS] = json.dumps({"metadata": {"continue": "again"}, "items": []})
        self.assertIn("more than 20000", self.refused("nodes", code=70))

    def test_status_counts_and_shows_what_needs_a_look(self):
        self.put_fleet()
        text = self.table("status", code=2)
        self.assertIn("9 nodes  failed\n2 PASS, 1 WARN, 1 EVICT, 1 TESTING, 3 UNKNOWN, 1 without accelerator\n", text)
        shown = [line.split()[0] for line in text.split("\n\n", 1)[1].splitlines()[1:] if line[0] != " "]
        self.assertEqual(shown, ["gpu-3", "gpu-4", "gpu-5", "gpu-6", "gpu-7", "gpu-2"])
        told = self.json("status", code=2)
        self.assertEqual(told["counts"], {"PASS": 2, "WARN": 1, "EVICT": 1, "TESTING": 1, "UNKNOWN": 3, "none": 1})
        self.assertEqual([item["node"] for item in told["items"]], shown)

    def test_the_exit_code_of_status_is_the_worst_node(self):
        for reports, code in (([report("a")], 0), ([report("a"), report("b", "WARN", "degraded")], 1),
                              ([report("a", "WARN", "degraded"), report("b", observed=ago(hours=1))], 3),
                              ([report("a", "EVICT", "healthy")], 2), ([report("a", "PASS", "failed")], 2), ([], 3)):
            with self.subTest(code=code):
                self.server.objects[REPORTS] = reports
                self.assertEqual(self.run_plugin("status").returncode, code)

    def test_a_node_is_its_problems_and_in_full_its_tables(self):
        self.put_fleet()
        page = self.table("status", "gpu-3", code=2)
        for expected in ("gpu-3  failed: GPU 0000:3b:00.0: ", "verdict EVICT  checked ", "GPU 0000:3b:00.0: the GPU is lost.",
                         "What to do: ", "ack: 0a1b-1)", "2 more incidents are in the agent's journal.",
                         "30 of 31 checks ran; missing permissions: CAP_SYSLOG\n", "host.clock ran and found nothing (see --all)"):
            self.assertIn(expected, page)
        self.assertNotIn("CONDITION", page)
        text = self.table("status", "gpu-3", "--all", code=2)
        for expected in ("gpu-3  failed  verdict EVICT  checked ", "30 of 31 checks ran; missing permissions: CAP_SYSLOG\n",
                         "power_cycle", "2 more are in the agent's journal.", "Failed: gpu: Xid 79 (for 2h)"):
            self.assertIn(expected, text)
        self.assertRegex(text, r"0a1b-1 +failed +GPU 0000:3b:00.0: the GPU is lost \[open\]")
        self.assertNotIn("Ready ", text)
        self.assertNotIn("host.clock", text)
        told = self.json("status", "gpu-3", code=2)
        self.assertEqual(told["incidents"][0]["blamed"], "gpu/0000:3b:00.0")
        self.assertEqual([one["type"] for one in told["conditions"]], ["GpuHealthy"])
        self.assertEqual([one["check"] for one in told["checks"]], ["gpu.xid", "host.clock"])

    def test_a_node_that_nobody_watches_is_unknown(self):
        self.put_fleet()
        self.server.objects[NODES].append(node("bare"))
        self.assertIn("verdict UNKNOWN  checked 16m ago", self.table("status", "gpu-4", code=3))
        self.assertIn("no agent has reported this node", self.table("status", "bare", code=3))
        self.assertIn("no node 'gone' in this cluster", self.refused("status", "gone", code=64))

    def test_events_are_those_of_autopilot_the_newest_last(self):
        self.server.objects[EVENTS] = [
            event("gpu-1", "RowRemapFailed", ago(minutes=1), count=3), event("gpu-2", "Xid", ago(minutes=30)),
            event("gpu-1", "NodeReady", ago(minutes=2), "kubelet"), event("gpu-1", "Xid", ago(minutes=2), kind="Pod")]
        lines = self.table("events").splitlines()
        self.assertEqual(lines[0].split(), ["LAST", "SEEN", "TYPE", "NODE", "REASON", "MESSAGE"])
        self.assertRegex(lines[1], r"^30m +Warning +gpu-2 +Xid")
        self.assertRegex("\n".join(lines), r"\n1m \(x3 in 0s\) +Warning +gpu-1 +RowRemapFailed")
        self.assertNotIn("NodeReady", "\n".join(lines))
        for arguments in (("events", "gpu-1"), ("events", "--for", "node/gpu-1")):
            self.assertEqual([(one["node"], one["reason"], one["count"]) for one in self.json(*arguments)["items"]],
                             [("gpu-1", "RowRemapFailed", 3)])
        self.assertIn("involvedObject.name=gpu-1", self.server.asked_for(EVENTS)[-1]["fieldSelector"])
        self.assertIn("node/NAME", self.refused("events", "--for", "pod/web", code=64))

    def test_errors_of_the_server_name_the_cure(self):
        for path, status, verb, words in (
            (REPORTS, 401, "nodes", "log in again"), (REPORTS, 403, "nodes", "permission to list nodehealthreports"),
            (REPORTS, 404, "status", "kubectl apply --server-side -f deploy/helm/autopilot/crds/"), (REPORTS, 503, "nodes", "try again"),
            (EVENTS, 403, "events", "list events in the namespace default"), (REPORTS, 418, "nodes", "check that `server` of the kubeconfig"),
        ):
            with self.subTest(status=status, verb=verb):
                self.server.refusals = {path: status}
                told = self.refused(verb, code=70)
                self.assertIn(words, told)
                self.assertNotIn("\x1b", told)
                self.assertNotIn("s3cret", told)

    def test_a_server_that_does_not_answer_is_waited_for_as_long_as_was_said(self):
        self.server.silent = True
        self.assertIn("--request-timeout", self.refused("nodes", "--request-timeout", "200ms", code=70))
        closed = write_kubeconfig(self.folder / "closed", {"here": "http://127.0.0.1:1"}, "here")
        self.assertIn("choose another cluster with --context", self.refused("nodes", "--kubeconfig", closed, code=70))

    def test_an_answer_that_is_none_of_an_api_server_is_an_error(self):
        for text in ("<html>hello</html>", "", "[]", '{"items": 7}', "[" * 5000):
            with self.subTest(text[:20]):
                self.server.raw = {REPORTS: text}
                self.assertIn("not a list of the API", self.refused("nodes", code=70))

    def test_who_may_not_see_node_objects_sees_the_reports(self):
        self.put_fleet()
        self.server.refusals = {NODES: 403, f"{NODES}/gpu-2": 403}
        answer = self.run_plugin("nodes")
        self.assertEqual(answer.returncode, 0)
        self.assertIn("nodes without a report are missing here", answer.stderr)
        self.assertIn("gpu-2", answer.stdout)
        answer = self.run_plugin("status", "gpu-2")
        self.assertEqual(answer.returncode, 1, answer.stderr)
        self.assertIn("permission to get nodes", answer.stderr)

    def test_a_cluster_without_reports_says_where_to_look(self):
        answer = self.run_plugin("status")
        self.assertEqual((answer.returncode, answer.stdout), (3, "0 nodes  unknown\n"))
        self.assertIn("--namespace", answer.stderr)
        other = REPORTS.replace("/autopilot/", "/health/")
        self.server.objects[other] = [report("gpu-1")]
        self.assertIn("gpu-1", self.table("nodes", "-n", "health"))

    def test_contexts_and_files_are_those_of_kubectl(self):
        self.server.objects[REPORTS] = [report("gpu-1")]
        other = FakeApiServer()
        self.addCleanup(other.close)
        other.objects[REPORTS] = [report("other-1")]
        two = write_kubeconfig(self.folder / "two", {"there": other.url}, "there")
        for arguments, variable, expected in (
            ((), f"{self.kubeconfig}:{two}", "gpu-1"), (("--context", "there"), f"{self.kubeconfig}:{two}", "other-1"),
            (("--kubeconfig", two), self.kubeconfig, "other-1"), ((), f"/nonexistent:{two}", "other-1"),
        ):
            with self.subTest(arguments, variable=variable):
                answer = self.run_plugin("nodes", *arguments, KUBECONFIG=variable)
                self.assertIn(expected, answer.stdout, answer.stderr)
                answer = self.run_plugin(*arguments, "nodes", KUBECONFIG=variable)
                self.assertIn(expected, answer.stdout, answer.stderr)
        (self.folder / ".kube").mkdir()
        write_kubeconfig(self.folder / ".kube" / "config", {"home": other.url}, "home")
        self.assertIn("other-1", self.run_plugin("nodes", KUBECONFIG="").stdout)

    def test_a_kubeconfig_that_cannot_be_used_is_named_with_the_cure(self):
        broken = self.folder / "broken"
        broken.write_text("# mine\nkind: Other\n", encoding="utf-8")
        for arguments, words in (
            (("--kubeconfig", "/nonexistent"), "/nonexistent: kubeconfig not found; name one with --kubeconfig"),
            (("--kubeconfig", str(self.folder)), str(self.folder)), (("--kubeconfig", "/dev/zero"), "/dev/zero: too long"), (("--kubeconfig", str(broken)), f"{broken}:2"),
            (("--context", "mars"), "unknown context `mars`; contexts: here"),
        ):
            with self.subTest(arguments):
                self.assertIn(words, self.refused("nodes", *arguments, code=78))
        self.assertIn("kubeconfig not found", self.refused("nodes", code=78, KUBECONFIG=""))

    def test_a_plugin_gives_the_credentials(self):
        plugin = self.folder / "give-token"
        plugin.write_text("#!/bin/sh\necho '{\"apiVersion\": \"client.authentication.k8s.io/v1\", \"kind\": \"ExecCredential\", "
                          "\"status\": {\"token\": \"given\"}}'\n", encoding="utf-8")
        plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
        user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "give-token", "interactiveMode": "Never"}}
        config = write_kubeconfig(self.folder / "exec", {"here": self.server.url}, "here", user)
        self.assertEqual(self.run_plugin("nodes", "--kubeconfig", config).returncode, 0)
        self.assertEqual(self.server.asked[0][2]["Authorization"], "Bearer given")
        plugin.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
        self.assertIn("give-token", self.refused("nodes", "--kubeconfig", config, code=70))

    def keys(self, name):
        """Files of a certificate of that name and its key, signed by itself."""
        certificate, key = (self.folder / f"{name}.{end}" for end in ("crt", "key"))
        subprocess.run([harness.need_program("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-out", certificate, "-keyout", key],
                       check=True, capture_output=True)
        return str(certificate), str(key)

    def test_certificates_say_who_is_who(self):
        server, person = self.keys("server"), self.keys("person")
        secure = FakeApiServer(tls=(*server, person[0]))
        self.addCleanup(secure.close)
        secure.objects[REPORTS] = [report("gpu-1")]
        user = {"client-certificate": person[0], "client-key": person[1]}
        trusting = write_kubeconfig(self.folder / "tls", {"here": secure.url}, "here", user, **{"certificate-authority": server[0]})
        answer = self.run_plugin("nodes", "--kubeconfig", trusting)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("gpu-1", answer.stdout)
        self.assertEqual(secure.clients[0]["subject"], ((("commonName", "person"),),))
        wary = write_kubeconfig(self.folder / "wary", {"here": secure.url}, "here", user, **{"certificate-authority": person[0]})
        self.assertIn("does not trust the server", self.refused("nodes", "--kubeconfig", wary, code=70))

    def test_hostile_text_reaches_no_terminal(self):
        evil = "x\x1b]0;owned\x07\x9b2J\r\n\x00y"
        incident = {**INCIDENT, "id": evil, "state": evil, "summary": evil, "action": evil, "blamed": {"kind": evil, "key": evil}}
        self.server.objects[REPORTS] = [
            report("gpu-1", "WARN", "degraded", worstIncident=evil, incidents=[incident],
                   checks=[{"check": evil, "health": "failed", "message": evil}],
                   coverage={"summary": evil, "missingRights": [evil]}), report("gpu-2" + evil, "EVICT" + evil)]
        self.server.objects[NODES] = [node("gpu-1", "WARN", conditions=[
            {"type": "GpuHealthy", "status": evil, "reason": evil, "message": evil}]), node("gpu-3", evil, evil, evil)]
        self.server.objects[EVENTS] = [event("gpu-1" + evil, evil, ago(minutes=1), type=evil)]
        for arguments in (("nodes",), ("status",), ("status", "gpu-1"), ("status", "gpu-1", "--all"), ("events",)):
            for form in ("table", "json", "yaml"):
                with self.subTest(arguments, form=form):
                    answer = self.run_plugin(*arguments, "-o", form)
                    text = answer.stdout + answer.stderr
                    self.assertTrue(text)
                    self.assertFalse([c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)], repr(text))

    def test_colours_are_for_terminals(self):
        self.put_fleet()
        self.assertNotIn("\x1b", self.table("nodes"))
        for variables, expected in (({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False)):
            main, other = pty.openpty()
            subprocess.run([str(self.folder / "kubectl-autopilot"), "nodes"], stdout=other, check=True, timeout=60,
                           env={**self.environment, "NO_COLOR": "", **variables})
            os.close(other)
            shown = os.read(main, 65536).decode()
            os.close(main)
            self.assertEqual("\x1b[1;31m" in shown, expected, shown)

    def put_plans(self):
        def one(name, phase, made, **status):
            return {"metadata": {"name": f"{name}-1"}, "spec": {"node": name, "cause": "gpu.pcie_bandwidth", "created": made},
                    "status": {"phase": phase, "message": "a test failed", "evidence": ["r1"], **status}}
        self.server.objects[PLANS] = [
            one("gpu-1", "over", ago(days=3)), one("gpu-2", "held", ago(hours=2), holds=True, done=[
                {"action": "cordon", "target": "gpu-2", "at": ago(hours=2)}]),
            one("gpu-3", "executing", ago(minutes=1), problem="the pod's disruption budget\x1b[2J")]

    def test_plans_are_shown_the_newest_first_and_those_that_are_over_when_wanted(self):
        self.put_plans()
        shown = self.table("plan")
        self.assertRegex(shown, r"NODE +PHASE +AGE +CAUSE +MESSAGE\n"
                                r"gpu-3 +executing +1m +gpu.pcie_bandwidth +not done yet: the pod's[^\x1b]*"
                                r"gpu-2 +held +2h +gpu.pcie_bandwidth +a test failed\n$")
        self.assertEqual([one["node"] for one in self.json("plan", "--all")["items"]], ["gpu-3", "gpu-2", "gpu-1"])
        self.assertEqual([one["holds"] for one in self.json("plan", "gpu-2")["items"]], [True])
        self.assertRegex(self.table("plan", "gpu-2"), r"PLAN +gpu-2-1\n(.*\n)*done +cordon gpu-2, 2h ago\n")
        self.assertIn("No plan of node gpu-9: nothing is held", self.table("plan", "gpu-9"))
        # The same by the other name.
        plain = subprocess.run([harness.AUTOPILOT, "plan"], env=self.environment, capture_output=True, text=True, check=True)
        self.assertEqual(plain.stdout, shown)

    def test_plans_that_cannot_be_read_are_no_empty_list(self):
        self.assertIn("does not know the kind RemediationPlan: kubectl apply --server-side -f deploy/helm", self.refused("plan", code=70))
        self.server.refusals[PLANS] = 403
        self.assertIn("list remediationplans", self.refused("plan", code=70))

    def test_explain_is_that_of_autopilot(self):
        plain = subprocess.run([harness.AUTOPILOT, "explain", "xid", "79"], capture_output=True, text=True, check=True)
        self.assertEqual(self.table("explain", "xid", "79"), plain.stdout)

    def test_usage_is_told_in_the_name_of_the_plugin(self):
        self.assertIn("did you mean nodes?", self.refused("node", code=64))
        self.assertIn("kubectl autopilot --help", self.refused("node", code=64))
        for arguments, words in ((("status", "../pods"), "expected a name"), (("nodes", "-n", "a/b"), "expected a name"),
                                 (("nodes", "-o", "wide"), "table, json or yaml"), (("nodes", "--request-timeout", "0s"), "at most 10m"),
                                 (("test",), "--node is required"), (("tests",), "no verb"), (("--context", "here"), "subcommand")):
            with self.subTest(arguments):
                self.assertIn(words, self.refused(*arguments, code=64))
        overview = self.table("--help")
        for verb in ("status", "nodes", "events", "test", "plan", "explain"):
            self.assertIn(f"  {verb} ", overview)
            page = self.table(verb, "--help")
            self.assertIn(f"kubectl autopilot {verb}", page.split("Example", 1)[1])
            self.assertTrue(all(len(line) <= 80 for line in page.splitlines()), page)

    def test_kubectl_is_told_what_may_stand_there(self):
        for words, expected in ((("no",), ["nodes", ":4"]), (("nodes", "--cont"), ["--context", ":4"]),
                                (("nodes", "-o", "y"), ["yaml", ":4"]), (("explain", "host.clock.o"), ["host.clock.offset", ":4"]),
                                (("nodes", "--kubeconfig", ""), [":0"]), (("status", "x", "--names"), ["--namespace", ":4"]),
                                ((), None)):
            with self.subTest(words):
                answer = self.run_plugin(*words, program="kubectl_complete-autopilot")
                self.assertEqual((answer.returncode, answer.stderr), (0, ""))
                if expected is not None:
                    self.assertEqual(answer.stdout.split(), expected)

    def test_output_that_is_lost_is_an_error(self):
        self.put_fleet()
        done = subprocess.run(["sh", "-c", '"$0" nodes >/dev/full', str(self.folder / "kubectl-autopilot")], env=self.environment,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 70)
        self.assertIn("could not be written", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
