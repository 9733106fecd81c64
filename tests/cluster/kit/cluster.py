# SPDX-License-Identifier: Apache-2.0
"""A whole cluster on this machine, in one folder. There is one at a time: its bridge has one name."""

import json
import shutil
import time
import unittest
from pathlib import Path

from kit import abilities, addons, fleet, images, network, programs, simulated
from kit.api import Api, condition_of
from kit.control_plane import PORTS, ControlPlane
from kit.node import PARENT, Node, remove_cgroups
from kit.processes import Processes
from kit.reason import CannotRun

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "build" / "cluster" / "run"
IMAGES = ROOT / "build" / "cluster" / "images"
MAX_REAL = 2


class Cluster:
    def __init__(self, folder: Path = FOLDER, say=lambda text: None):
        self.folder = folder
        self._say = say
        self.programs: dict[str, Path] = {}
        self.processes = None
        self.control_plane = None
        self.api = None
        self.nodes: list[Node] = []
        self.why_no_nodes = ""
        self.simulated_nodes: list[str] = []
        self.has_begun = False  # by `up` of this object

    def need_nodes(self, count: int) -> None:
        """This number of nodes with a kubelet, or a skip with the reason if there are fewer."""
        if len(self.nodes) < count:
            raise unittest.SkipTest(self.why_no_nodes or f"this cluster has fewer than {count} nodes with a kubelet: make cluster REAL={count}")

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "admin.kubeconfig"

    def up(self, real: int, sim: int, build_folder: Path, reduce: bool = False, agents: list[str] | None = None) -> None:
        """Ready afterwards: every node, and names where there is a real one. `build_folder` holds our own programs. `reduce`:
        without real nodes where they cannot run. `agents`: each simulated node has one, which begins to say how it is;
        arguments of their program."""
        if self.folder.exists():
            raise CannotRun(f"there is a cluster in {self.folder} already; make cluster-down ends it")
        network.check_free()
        abilities.check_control_plane()
        abilities.check_room(self.folder)
        if real:
            real = self._possible_nodes(real, reduce)
        modules = ["etcd", "kubernetes"] + (["coredns", "device_plugin"] if real else []) + (["kwok"] if sim else [])
        self.programs = programs.build(modules, self._say)
        made = self._make_images(build_folder) if real else []
        self._begin(real, sim)
        network.make_bridge(self.folder)
        network.check_ports(PORTS)
        self._say("starting etcd and the control plane")
        self.control_plane.make_keys()
        self.control_plane.start()
        for node in self.nodes:
            self._say(f"starting {node.name}: containerd, kubelet, kube-proxy")
            node.start(self.control_plane, self.programs, made, self.processes)
        network.connect_pods({node.name: node.number for node in self.nodes})
        self._start_simulated(sim)
        self._bind_proxy()
        self._wait_for_nodes(real + sim)
        if real:
            for node in self.nodes:
                self.api.run("label", "node", node.name, f"{simulated.LABEL}=real")
            self._say("starting CoreDNS")
            self.api.apply(*addons.coredns())
            self.api.wait(self.has_names, "CoreDNS is ready", 120)
        if agents is not None and sim:
            self._say("starting the agents of the simulated nodes")
            fleet.start(self, build_folder, sim, *agents)
            fleet.wait_until_all_wrote(self, sim)

    def _possible_nodes(self, real: int, reduce: bool) -> int:
        try:
            abilities.check_real_nodes()
        except CannotRun as reason:
            if not reduce:
                raise
            self.why_no_nodes = str(reason)
            self._say(f"going on without: {reason}")
            return 0
        return real

    def _begin(self, real: int, sim: int) -> None:
        try:
            self.folder.mkdir(parents=True)
        except FileExistsError as error:
            raise CannotRun(f"another cluster is being started in {self.folder}") from error
        self.has_begun = True
        (self.folder / "cluster.json").write_text(json.dumps({
            "real": real, "sim": sim, "whyNoNodes": self.why_no_nodes,
            "programs": {name: str(path) for name, path in self.programs.items()}}))
        self.open()

    def down(self) -> bool:
        """Ends what `up` started, however far it came; nothing is left but caches. False: there was nothing."""
        # A crashed cluster leaves only files in the folder; its process ids can belong to other processes now.
        is_here = network.owner() == str(self.folder)
        if not is_here and not self.folder.exists():
            return False
        abilities.check_root()
        Processes(self.folder).kill_all()
        if is_here:
            remove_from_machine()
        if self.folder.exists():
            shutil.rmtree(self.folder)
        return True

    def open(self) -> "Cluster":
        """The cluster that `up` has started in the folder. CannotRun: there is no cluster, with the reason."""
        state = self.folder / "cluster.json"
        if not state.exists():
            network.check_free()
            abilities.check_control_plane()
            programs.find_go()
            raise CannotRun(f"there is no cluster in {self.folder}; make cluster starts one")
        begun = json.loads(state.read_text())
        self.programs = {name: Path(path) for name, path in begun["programs"].items()}
        self.processes = Processes(self.folder)
        self.control_plane = ControlPlane(self.folder, self.programs, self.processes)
        self.nodes = [Node(self.folder, number) for number in range(begun["real"])]
        self.why_no_nodes = begun["whyNoNodes"] or "this cluster has no node with a kubelet"
        self.simulated_nodes = [f"sim-{number}" for number in range(begun["sim"])]
        self.api = Api(self.programs["kubectl"], self.kubeconfig)
        return self

    def _make_images(self, build_folder: Path) -> list[Path]:
        self._say("making images")
        made = [images.make_pause(IMAGES), images.make_busybox(IMAGES), images.make_coredns(IMAGES, self.programs["coredns"]),
                images.make_device_plugin(IMAGES, self.programs["device_plugin"])]
        if (build_folder / "autopilot").exists():
            made += [images.make_autopilot(IMAGES, build_folder), images.make_product(IMAGES, build_folder),
                     images.make_gpus(IMAGES, build_folder, "gpus"),
                     images.make_gpus(IMAGES, build_folder, "wrong_gpus", {}, {"copy_bits": "0x8"})]
        return made

    def _bind_proxy(self) -> None:
        self.api.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                        "metadata": {"name": "kit:node-proxier"},
                        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node-proxier"},
                        "subjects": [{"kind": "User", "name": "system:kube-proxy"}]})

    def _start_simulated(self, count: int) -> None:
        if count == 0:
            return
        self._say(f"making {count} simulated nodes")
        simulated.start_player(self.programs, self.kubeconfig, self.processes)
        self.api.run("create", "-f", "-", text=simulated.as_text([simulated.node(name) for name in self.simulated_nodes]))

    def _wait_for_nodes(self, count: int) -> None:
        def ready():
            found = self.api.get("nodes")["items"]
            return len(found) == count and all(condition_of(node, "Ready") == "True" for node in found)
        try:
            self.api.wait(ready, f"{count} nodes are ready", 120)
        except AssertionError as error:
            words = [f"{node.name}/{name}:\n{_tail(node.log_of(name))}" for node in self.nodes
                     for name in ("kubelet", "containerd")]
            words += [f"{name}:\n{self.processes.last_words(name)}" for name in self.processes.names()]
            raise RuntimeError(f"{error}\n" + "\n".join(words)) from error

    def has_names(self) -> bool:
        deployment = self.api.get("deployment/coredns", "-n", "kube-system")
        return deployment["status"].get("readyReplicas", 0) >= 1


def end_left_over() -> bool:
    """Ends the remains of a cluster on this machine that has no owner. False: there are none."""
    if not network.is_left_over():
        return False
    abilities.check_root()
    if folder := network.owner():
        Processes(Path(folder)).kill_all()
    remove_from_machine()
    return True


def remove_from_machine() -> None:
    """Removes all objects of clusters outside their folders; their processes have ended."""
    for number in range(MAX_REAL):
        Node(FOLDER, number).remove()
    network.remove_hosts()
    network.remove_bridge()
    remove_cgroups(PARENT)


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else "(no log)"


def timed_say(write):
    """Progress with the seconds since the beginning."""
    begin = time.monotonic()
    return lambda text: write(f"[{time.monotonic() - begin:6.1f} s] {text}")
