#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pods that hold GPUs: the kubelet's pod-resources service, served by the kubelet's own code, asked by the helper and by
the agent. The simulated machine has the socket in its tree."""

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import go_program
import harness

SOCKET = "root/var/lib/kubelet/pod-resources/kubelet.sock"
NOBODY = 65534
UNIMPLEMENTED, RESOURCE_EXHAUSTED, PERMISSION_DENIED, UNAVAILABLE = 12, 8, 7, 14
LONG_TEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_dcgmi.py")


def pod(name, *containers):
    return {"name": name, "namespace": "ml", "containers": list(containers)}


def container(name, *devices, claims=()):
    return {"name": name, "cpu_ids": [1, 2, 3], "memory": [{"memory_type": "memory", "size": 1 << 30}],
            "devices": [{"resource_name": resource, "device_ids": list(ids), "topology": {"nodes": [{"ID": 1}]}}
                        for resource, *ids in devices],
            "dynamic_resources": [
                {"claim_name": "gpu", "claim_namespace": "ml", "claim_resources": [
                    {"cdi_devices": [{"name": f"k8s.{driver}/claim=1-{device}"}], "driver_name": driver,
                     "pool_name": "node-1", "device_name": device}]} for driver, device in claims]}


class Kubelet:
    """The service at a socket, with pods that may change while it serves."""

    def __init__(self, program, folder, path, *options):
        self._pods = os.path.join(folder, "pods.json")
        self.set()
        # A relative path, because the address of a socket has no room for a long one.
        place, name = os.path.split(path)
        os.makedirs(place, exist_ok=True)
        self._child = subprocess.Popen([program, "--socket", name, "--pods", self._pods, *options], cwd=place,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._child.stdout.readline() == "serving\n"

    def set(self, *pods):
        with open(self._pods + ".new", "w", encoding="ascii") as file:
            json.dump({"pod_resources": pods}, file)
        os.replace(self._pods + ".new", self._pods)

    def stop(self):
        self._child.stdin.close()
        self._child.wait(20)
        self._child.stdout.close()


class Stranger:
    """Listens at a socket and sends the same bytes to every client; with `forever`, repeatedly."""

    def __init__(self, path, answer, forever=False):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self._answer, self._forever = answer, forever
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(path)
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while True:
            try:
                guest, _ = self._socket.accept()
            except OSError:
                return
            with guest:
                try:
                    guest.sendall(self._answer)
                    while self._forever:
                        guest.sendall(self._answer)
                    # Closing with unread bytes would take the answer away.
                    guest.shutdown(socket.SHUT_WR)
                    while guest.recv(4096):
                        pass
                except OSError:
                    pass

    def stop(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)


class Helper:
    """`autopilot helper kubelet` with this test in the agent's place."""

    def __init__(self, root, program=None, user=None):
        self._socket, other = socket.socketpair()
        become = {"user": user, "group": user, "extra_groups": []} if user is not None else {}
        # The helper finds its end as descriptor 3.
        self._child = subprocess.Popen([program or harness.AUTOPILOT, "helper", "kubelet", "--root", root],
                                       pass_fds=(3,), preexec_fn=lambda: os.dup2(other.fileno(), 3), cwd="/", **become)
        other.close()
        self._id = 0

    def ask(self, patience=20.0):
        """Its whole answer, and how long that took."""
        self._id += 1
        question = json.dumps({"version": 1, "id": self._id, "method": "pod_resources", "timeoutMs": int(patience * 1000),
                               "params": None}).encode()
        begin = time.monotonic()
        self._socket.settimeout(patience + 20)
        self._socket.sendall(struct.pack(">I", len(question)) + question)
        size, = struct.unpack(">I", self._receive(4))
        answer = json.loads(self._receive(size))
        assert answer["id"] == self._id
        return answer, time.monotonic() - begin

    def _receive(self, size):
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            assert more, "the helper ended"
            data += more
        return data

    def stop(self):
        self._socket.close()
        return self._child.wait(20)


class PodResourcesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = go_program.build("pod_resources")

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ap-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.path = os.path.join(self.folder, SOCKET)

    def serve(self, *options):
        kubelet = Kubelet(self.program, self.folder, self.path, *options)
        self.addCleanup(kubelet.stop)
        return kubelet

    def helper(self, **keywords):
        helper = Helper(os.path.join(self.folder, "root"), **keywords)
        self.addCleanup(lambda: self.assertEqual(helper.stop(), 0))
        return helper

    def held(self, helper):
        answer, _ = helper.ask()
        self.assertIn("result", answer)
        return [(f'{one["namespace"]}/{one["pod"]}/{one["container"]}', one["resource"], *one["ids"])
                for one in answer["result"]["held"]]

    def refused(self, helper, **keywords):
        answer, seconds = helper.ask(**keywords)
        self.assertIn("error", answer)
        return answer["error"]["code"], answer["error"]["what"], seconds

    def test_every_kind_of_device_is_told(self):
        kubelet = self.serve()
        kubelet.set(
            pod("train-0", container("main", ("nvidia.com/gpu", "GPU-1", "GPU-2"), ("rdma/hca", "7")), container("sidecar")),
            pod("shared-0", container("main", ("nvidia.com/gpu", "GPU-3::0"))),
            pod("shared-1", container("main", ("nvidia.com/gpu", "GPU-3::1"))),
            pod("slice-0", container("main", ("nvidia.com/mig-1g.10gb", "MIG-1"))),
            pod("claim-0", container("main", claims=[("gpu.nvidia.com", "gpu-4")])),
            pod("amd-0", container("main", ("amd.com/gpu", "0000:3b:00.0"))),
            pod("two-0", container("a", ("nvidia.com/gpu", "GPU-5")), container("b", ("nvidia.com/gpu", "GPU-6"))),
            pod("idle-0", container("main")))
        self.assertEqual(self.held(self.helper()), [
            ("ml/train-0/main", "nvidia.com/gpu", "GPU-1", "GPU-2"), ("ml/train-0/main", "rdma/hca", "7"),
            ("ml/shared-0/main", "nvidia.com/gpu", "GPU-3::0"), ("ml/shared-1/main", "nvidia.com/gpu", "GPU-3::1"),
            ("ml/slice-0/main", "nvidia.com/mig-1g.10gb", "MIG-1"), ("ml/claim-0/main", "gpu.nvidia.com", "gpu-4"),
            ("ml/amd-0/main", "amd.com/gpu", "0000:3b:00.0"),
            ("ml/two-0/a", "nvidia.com/gpu", "GPU-5"), ("ml/two-0/b", "nvidia.com/gpu", "GPU-6")])

    def test_no_pods_and_then_some(self):
        kubelet = self.serve()
        helper = self.helper()
        self.assertEqual(self.held(helper), [])
        kubelet.set(pod("train-0", container("main", ("nvidia.com/gpu", "GPU-1"))))
        self.assertEqual(self.held(helper), [("ml/train-0/main", "nvidia.com/gpu", "GPU-1")])

    def test_two_thousand_pods(self):
        kubelet = self.serve()
        kubelet.set(*(pod(f"train-{i}", container("main", ("nvidia.com/gpu", f"GPU-{i:036}"))) for i in range(2000)))
        held = self.held(self.helper())
        self.assertEqual(len(held), 2000)
        self.assertEqual(held[1999], ("ml/train-1999/main", "nvidia.com/gpu", f"GPU-{1999:036}"))

    def test_more_than_one_window_and_more_than_an_answer_may_have(self):
        # 40,000 CPUs a pod: what is not wanted is most of the message.
        cpus = dict(container("main", ("nvidia.com/gpu", "GPU-1")), cpu_ids=list(range(40_000)))
        kubelet = self.serve()
        kubelet.set(*(pod(f"p-{i}", cpus) for i in range(40)))
        self.assertEqual(len(self.held(self.helper())), 40)
        kubelet.set(*(pod(f"p-{i}", cpus) for i in range(200)))
        code, what, _ = self.refused(self.helper())
        self.assertEqual(code, "exhausted")
        self.assertIn("bytes", what)

    def test_a_kubelet_that_hangs_costs_the_deadline_and_no_more(self):
        self.serve("--sleep", "1h")
        helper = self.helper()
        for _ in range(2):
            code, _, seconds = self.refused(helper, patience=0.8)
            self.assertEqual(code, "timed_out")
            self.assertGreater(seconds, 0.5)

    def test_an_error_is_told_with_its_name(self):
        for status, code, word in ((RESOURCE_EXHAUSTED, "exhausted", "RESOURCE_EXHAUSTED: as the test wants it"),
                                   (PERMISSION_DENIED, "denied", "PERMISSION_DENIED"),
                                   (UNAVAILABLE, "unavailable", "UNAVAILABLE")):
            with self.subTest(code):
                kubelet = Kubelet(self.program, self.folder, self.path, "--code", str(status))
                try:
                    told, what, _ = self.refused(self.helper())
                finally:
                    kubelet.stop()
                self.assertEqual(told, code)
                self.assertIn(word, what)

    def test_a_kubelet_without_the_service_is_none(self):
        for options in (("--absent",), ("--code", str(UNIMPLEMENTED))):
            kubelet = Kubelet(self.program, self.folder, self.path, *options)
            try:
                self.assertEqual(self.refused(self.helper())[0], "not_found", options)
            finally:
                kubelet.stop()

    def test_no_socket(self):
        code, what, _ = self.refused(self.helper())
        self.assertEqual(code, "not_found")
        self.assertIn("No such file", what)

    def test_what_is_no_kubelet(self):
        settings = b"\0\0\0\4\0\0\0\0\0"
        # HEADERS of stream 1 with END_STREAM: ":status: 200" and no word of gRPC.
        no_grpc = settings + b"\0\0\1\1\5\0\0\0\1" + b"\x88"
        teapot = settings + b"\0\0\1\1\5\0\0\0\1" + b"\x8d"
        for name, answer, codes in (("text", b"HTTP/1.1 400 Bad Request\r\n\r\n", {"malformed"}),
                                    ("zeroes", bytes(100_000), {"malformed"}),
                                    ("noise", bytes(range(256)) * 64, {"malformed"}),
                                    ("nothing", b"", {"unavailable"}),
                                    ("half a frame", settings + b"\0\0", {"unavailable"}),
                                    ("no status of gRPC", no_grpc, {"malformed"}),
                                    ("another status", teapot, {"malformed"})):
            with self.subTest(name):
                stranger = Stranger(self.path, answer)
                try:
                    code, what, _ = self.refused(self.helper(), patience=10)
                finally:
                    stranger.stop()
                    os.unlink(self.path)
                self.assertIn(code, codes, what)

    def test_who_never_stops_to_talk_is_left_at_the_deadline(self):
        settings, ping_answer = b"\0\0\0\4\0\0\0\0\0", b"\0\0\x08\6\1\0\0\0\0" + bytes(8)
        stranger = Stranger(self.path, settings + ping_answer * 1000, forever=True)
        self.addCleanup(stranger.stop)
        code, _, seconds = self.refused(self.helper(), patience=1.0)
        self.assertIn(code, {"timed_out", "malformed"})
        self.assertLess(seconds, 15)

    def test_a_socket_that_is_closed_to_the_agent(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to become another user")
        self.serve()
        os.chmod(self.folder, 0o755)
        # The build folder may be closed to others.
        program = shutil.copy(harness.AUTOPILOT, self.folder)
        os.chmod(self.path, 0o600)
        self.assertEqual(self.refused(self.helper(program=program, user=NOBODY))[0], "denied")
        os.chmod(os.path.dirname(self.path), 0o700)
        self.assertEqual(self.refused(self.helper(program=program, user=NOBODY))[0], "denied")

    def test_a_stranger_in_place_of_the_kubelet_is_not_believed(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to become two other users")
        os.chmod(self.folder, 0o777)
        os.makedirs(os.path.dirname(self.path))
        os.chmod(os.path.dirname(self.path), 0o777)
        # The report names the first listener, whatever serves later.
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            os.setresuid(-1, NOBODY, 0)
            try:
                listener.bind(self.path)
                listener.listen()
            finally:
                os.setresuid(-1, 0, 0)
            code, what, _ = self.refused(self.helper())
        self.assertEqual(code, "denied")
        self.assertIn("neither root nor this user", what)


class AgentTest(unittest.TestCase):
    """The agent on a simulated machine whose tree has the kubelet's socket."""

    @classmethod
    def setUpClass(cls):
        cls.program = go_program.build("pod_resources")

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ap-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        config = os.path.join(self.folder, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"dcgm: {{command: [{LONG_TEST}, hang]}}\n")
        self.agent = harness.Agent("--simulate", "hgx-h100-8", "--config", config, environment={"TMPDIR": self.folder})
        self.addCleanup(self.agent.close)
        self.agent.wait_ready()
        machine, = (name for name in os.listdir(self.folder) if name.startswith("autopilot-sim-"))
        self.path = os.path.join(self.folder, machine, "machine", SOCKET)
        self.uuids = [gpu["uuid"] for gpu in sorted(self.gpus(), key=lambda gpu: gpu["index"])]
        self.assertEqual(len(set(self.uuids)), 8)

    def serve(self, *options):
        kubelet = Kubelet(self.program, self.folder, self.path, *options)
        self.addCleanup(kubelet.stop)
        return kubelet

    def inject(self, *arguments):
        code, _, errors = harness.run("inject", *arguments, "--socket", self.agent.socket)
        self.assertEqual(code, 0, errors)

    def gpus(self):
        """Every GPU that the driver lists, once."""
        subjects = (one["subject"] for one in self.look() if one["name"] == "gpu.state")
        return [one for one in subjects if one["kind"] == "gpu"]

    def look(self):
        """The observations of one reading of the processes."""
        status, body = self.agent.request("POST", "/v1/checks/gpu.processes", unix=True)
        self.assertEqual(status, 200, body)
        return json.loads(body)["observations"]

    def pods(self):
        return sorted((one["subject"]["index"], one["name"]) for one in self.look() if one["name"].startswith("pod."))

    def parts(self):
        """Instances by key, once both GPUs have them: an answer of the driver can be a second old."""
        parts = {one["subject"]["key"]: one["value"] for one in self.look() if one["name"] == "gpu.instance"}
        return parts if len(parts) == 6 else None

    def incident(self, reason):
        return next((one for one in self.agent.node()["incidents"] if one["reason"] == reason), None)

    def test_an_incident_names_the_pod_that_held_the_gpu_also_when_it_is_gone(self):
        kubelet = self.serve()
        kubelet.set(pod("train-0", container("main", ("nvidia.com/gpu", self.uuids[2], self.uuids[3]))),
                    pod("claim-0", container("main", claims=[("gpu.nvidia.com", "gpu-5")])),
                    pod("shared-0", container("main", ("nvidia.com/gpu", self.uuids[6] + "::0"))),
                    pod("other-0", container("main", ("nvidia.com/gpu", "GPU-of-another-machine"), ("rdma/hca", "1"))))
        self.assertEqual(self.pods(), [(2, "pod.ml/train-0"), (3, "pod.ml/train-0"), (5, "pod.ml/claim-0"),
                                       (6, "pod.ml/shared-0")])
        told = {one["name"]: one.get("value") for one in self.look()}
        self.assertEqual((told["pods.holding_gpus"], told["pods.other_devices"]), (3, 2))
        self.assertIn("kubelet", self.agent.result("gpu.processes")["witnesses"])
        kubelet.set()
        harness.wait_until(lambda: not self.pods(), "the pods are gone")
        self.inject("xid", "--subject", "gpu/2", "--magnitude", "79")
        incident = harness.wait_until(lambda: self.incident("gpu_fallen_off_bus"), "the GPU fell off the bus")
        self.assertEqual([(one["podNamespace"], one["pod"], one["pid"], one["process"]) for one in incident["workloads"]],
                         [("ml", "train-0", 0, "")])
        code, table, errors = harness.run("status", "--socket", self.agent.socket)
        self.assertEqual(code, 2, errors)
        self.assertIn("Used by: pod ml/train-0", " ".join(table.split()))
        self.assertNotIn("podResourcesProblem", self.agent.node()["self"])

    def test_a_pod_with_a_process_is_told_once(self):
        self.inject("busy", "--subject", "gpu/0")
        self.serve().set(pod("train-0", container("main", ("nvidia.com/gpu", self.uuids[0]))))
        harness.wait_until(lambda: "process.4200" in [one["name"] for one in self.look()], "the process is seen")
        self.assertEqual(self.pods(), [(0, "pod.ml/train-0")])
        self.inject("xid", "--subject", "gpu/0", "--magnitude", "79")
        incident = harness.wait_until(lambda: self.incident("gpu_fallen_off_bus"), "the GPU fell off the bus")
        self.assertEqual([(one["pod"], one["pid"]) for one in incident["workloads"]], [("train-0", 4200)])

    def test_a_gpu_that_a_pod_holds_idle_is_left_alone_by_tests_on_demand(self):
        def make():
            code, out, errors = harness.run("test", "gpu.sdc", "--socket", self.agent.socket, "-o", "json", timeout=90)
            self.assertTrue(out, errors)
            return code, json.loads(out)["items"][0]["operation"]

        kubelet = self.serve()
        kubelet.set(pod("train-0", container("main", ("nvidia.com/gpu", self.uuids[3]))))
        self.assertEqual(self.pods(), [(3, "pod.ml/train-0")])
        code, operation = make()
        self.assertEqual((code, operation["state"]), (3, "skipped"), operation)
        self.assertRegex(operation["message"], r"^GPU in use by ml/train-0 on gpu/0000:61:00\.0$")
        kubelet.set()
        harness.wait_until(lambda: not self.pods(), "the pod is gone")
        code, operation = make()
        self.assertEqual((code, operation["state"]), (0, "succeeded"), operation)

    def test_a_test_on_demand_ends_when_a_pod_gets_its_gpu(self):
        kubelet = self.serve()
        status, body = self.agent.request("POST", "/v1/operations", body='{"kind":"gpu.dcgm"}', unix=True,
                                          headers={"Content-Type": "application/json"})
        self.assertEqual(status, 202, body)
        path = "/v1/operations/" + json.loads(body)["id"]
        kubelet.set(pod("train-0", container("main", ("nvidia.com/gpu", self.uuids[0]))))
        harness.wait_until(lambda: json.loads(self.agent.get(path))["state"] != "running", "the test has ended")
        operation = json.loads(self.agent.get(path))
        self.assertEqual((operation["state"], operation["message"]), ("skipped", "GPU in use by ml/train-0 on gpu/0000:1b:00.0"))

    def test_a_pod_that_holds_a_part_of_a_gpu(self):
        for gpu in ("gpu/2", "gpu/5"):
            self.inject("divided", "--subject", gpu, "--magnitude", "3")
        parts = harness.wait_until(self.parts, "the driver tells of the parts")
        self.assertEqual(len(set(parts.values())), 6)
        part = sorted(parts)[4]
        self.serve().set(pod("slice-0", container("main", ("nvidia.com/mig-1g.10gb", parts[part]))))
        held = [(one["subject"]["kind"], one["subject"]["key"], one["name"]) for one in self.look()
                if one["name"].startswith("pod.")]
        self.assertEqual(held, [("gpu_instance", part, "pod.ml/slice-0")])
        self.inject("xid", "--subject", "gpu/5", "--magnitude", "79")
        incident = harness.wait_until(lambda: self.incident("gpu_fallen_off_bus"), "the GPU fell off the bus")
        self.assertEqual([one["pod"] for one in incident["workloads"]], ["slice-0"])

    def test_without_a_kubelet_nothing_is_said(self):
        names = [one["name"] for one in self.look()]
        self.assertEqual([name for name in names if name.startswith("pod")], [])
        self.assertNotIn("kubelet", self.agent.result("gpu.processes")["witnesses"])
        self.assertNotIn("podResourcesProblem", self.agent.node()["self"])
        self.assertIsNone(self.agent.process.find("kubelet"))
        self.assertEqual([pid for pid in harness.children_of(self.agent.pid) if "kubelet" in harness.arguments_of(pid)], [])

    def test_one_that_cannot_be_asked_is_said_once_and_hides_nothing(self):
        kubelet = Kubelet(self.program, self.folder, self.path, "--code", str(PERMISSION_DENIED))
        try:
            for _ in range(3):
                told = {one["name"]: one for one in self.look()}
                self.assertEqual(told["pods.holding_gpus"].get("missing"), "denied")
            self.assertEqual(self.agent.result("gpu.processes")["health"], "healthy")
            problem = harness.wait_until(lambda: self.agent.node()["self"].get("podResourcesProblem"), "the problem is told")
            self.assertIn("PERMISSION_DENIED", problem)
            said = [line for line in self.agent.process.log if "does not report which pods hold a GPU" in line]
            self.assertEqual(len(said), 1, said)
        finally:
            kubelet.stop()
        self.serve().set(pod("train-0", container("main", ("nvidia.com/gpu", self.uuids[1]))))
        self.assertEqual(self.pods(), [(1, "pod.ml/train-0")])
        harness.wait_until(lambda: "podResourcesProblem" not in self.agent.node()["self"], "the problem is over")


class ListeningHelperTest(unittest.TestCase):
    """An agent that may not ask the kubelet asks a helper of root, on a machine that is simulated; the kubelet is not."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root to become another user")
        cls.program = go_program.build("pod_resources")

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ap-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)
        # The build folder may be closed to others.
        for name in ("autopilot", "autopilot-sim", "libnvidia-ml-sim.so"):
            os.chmod(shutil.copy(os.path.join(harness.BIN, name), self.folder), 0o755)
        self.program_here = os.path.join(self.folder, "autopilot")
        self.socket = os.path.join(self.folder, "helper.sock")
        path = os.path.join(self.folder, SOCKET)
        self.kubelet = Kubelet(self.program, self.folder, path)
        self.addCleanup(self.kubelet.stop)
        os.chmod(os.path.dirname(path), 0o750)

    def start_helper(self, user):
        helper = harness.Process([self.program_here, "helper", "kubelet", "--root", os.path.join(self.folder, "root"),
                                  "--listen", self.socket, "--allow-uid", str(user)])
        self.addCleanup(helper.stop, signal.SIGKILL)
        harness.wait_until(lambda: helper.find("listens on"), "the helper listens")
        return helper

    def look(self, user):
        """The observations of one run by a user without permissions."""
        done = subprocess.run([self.program_here, "check", "--no-agent", "--window", "0s", "--simulate", "hgx-h100-8", "-o", "json",
                               "gpu.processes"], user=user, group=user, extra_groups=[], cwd="/", capture_output=True,
                              text=True, timeout=60, check=False,
                              env={"PATH": "/usr/bin:/bin", "HOME": "/nowhere", "AUTOPILOT_KUBELET_HELPER_SOCKET": self.socket})
        result, = json.loads(done.stdout)["results"]
        return {one["name"]: one for one in result["observations"]}

    def test_a_user_without_rights_knows_the_pods(self):
        self.kubelet.set(pod("train-0", container("main", ("nvidia.com/gpu", "GPU-elsewhere"))))
        helper = self.start_helper(NOBODY)
        told = self.look(NOBODY)
        self.assertEqual((told["pods.holding_gpus"].get("value"), told["pods.other_devices"].get("value")), (0, 1))
        gpu = next(one["subject"] for one in told.values() if one["subject"]["kind"] == "gpu")
        self.kubelet.set(pod("train-0", container("main", ("nvidia.com/gpu", gpu["uuid"]))))
        told = self.look(NOBODY)
        self.assertEqual(told["pod.ml/train-0"]["subject"]["uuid"], gpu["uuid"])
        self.assertEqual(helper.stop(signal.SIGTERM), 0)
        self.assertFalse(os.path.exists(self.socket))
        self.assertEqual(self.look(NOBODY)["pods.holding_gpus"].get("missing"), "unavailable")

    def test_a_user_who_is_not_allowed_learns_nothing(self):
        self.start_helper(NOBODY)
        self.assertEqual(self.look(NOBODY - 1)["pods.holding_gpus"].get("missing"), "denied")


if __name__ == "__main__":
    unittest.main(verbosity=2)
