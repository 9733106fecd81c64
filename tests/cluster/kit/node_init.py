# SPDX-License-Identifier: Apache-2.0
"""The first process of a node, in namespaces of its own: makes the places that a node's programs expect, starts
containerd, kubelet and kube-proxy, and starts again what ends."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

# Data folders of the programs of a node, and their names in the node's folder.
PLACES = {"/var/lib/kubelet": "kubelet", "/var/lib/containerd": "containerd", "/var/lib/cni": "cni",
          "/var/log/pods": "pods", "/var/log/containers": "containers", "/etc/cni/net.d": "net.d",
          "/var/lib/autopilot": "autopilot"}
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
PAUSE_BETWEEN_STARTS = 1.0


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)


def make_places(folder: Path) -> None:
    # While mounts are shared, an unmount would also remove their copies.
    mount("--make-rprivate", "/")
    mount("-t", "proc", "proc", "/proc")
    # The devices of this node's network, with the control groups as they are.
    mount("--rbind", "/sys/fs/cgroup", "/mnt")
    mount("-t", "sysfs", "sysfs", "/sys")
    mount("--rbind", "/mnt", "/sys/fs/cgroup")
    subprocess.run(["umount", "--recursive", "/mnt"], check=True)
    mount("-t", "tmpfs", "tmpfs", "/run")
    hide_kernel_settings()
    for place, name in PLACES.items():
        (folder / name).mkdir(exist_ok=True)
        os.makedirs(place, exist_ok=True)
        mount("--bind", folder / name, place)
    mount("--make-rshared", "/")


def hide_kernel_settings() -> None:
    """A kubelet sets the kernel as it likes it. This kernel is not the node's alone: it sets files instead."""
    for name in ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
                 "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"):
        setting = Path("/proc/sys") / name
        own = Path("/run") / name.replace("/", ".")
        own.write_text(setting.read_text())
        mount("--bind", own, setting)


def join_cgroup(cgroup: str) -> None:
    """Everything that is started from here is accounted to the node."""
    for hierarchy in Path("/sys/fs/cgroup").iterdir():
        own = hierarchy / f"{cgroup[1:]}/system"
        try:
            own.mkdir(parents=True, exist_ok=True)
            for name in ("cpuset.cpus", "cpuset.mems"):
                for group in (own.parents[1], own.parents[0], own):
                    if (group / name).exists():
                        (group / name).write_text((group.parent / name).read_text())
            (own / "cgroup.procs").write_text(str(os.getpid()))
        except OSError as error:
            print(f"no control group {own}: {error}", flush=True)


def write_containerd_config(folder: Path) -> Path:
    path = folder / "containerd.toml"
    path.write_text('''version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/autopilot-test/pause:1"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
''')
    return path


def write_network_config(folder: Path, settings: dict) -> None:
    (folder / "net.d" / "10-kit.conflist").write_text(json.dumps({
        "cniVersion": "0.4.0", "name": "kit",
        "plugins": [
            # Not a bridge: answers between its pods would bypass the rules of kube-proxy if the kernel module is missing.
            {"type": "ptp", "ipMasq": False,
             "ipam": {"type": "host-local", "ranges": [[{"subnet": settings["pods"]}]],
                      "routes": [{"dst": "0.0.0.0/0"}]}},
            {"type": "portmap", "capabilities": {"portMappings": True}}]}))


def write_kubelet_config(folder: Path, settings: dict) -> Path:
    (folder / "resolv.conf").write_text("")
    path = folder / "kubelet.json"
    path.write_text(json.dumps({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": settings["address"], "healthzBindAddress": "127.0.0.1",
        "tlsCertFile": str(folder / "kubelet.crt"), "tlsPrivateKeyFile": str(folder / "kubelet.key"),
        "authentication": {"x509": {"clientCAFile": settings["authority"]}, "webhook": {"enabled": True},
                           "anonymous": {"enabled": False}},
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "cgroupfs", "cgroupRoot": settings["cgroup"], "failSwapOn": False,
        "clusterDNS": [settings["dns"]], "clusterDomain": "cluster.local", "resolvConf": str(folder / "resolv.conf"),
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        # The disk is not this node's alone.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "200Mi", "imagefs.available": "200Mi"},
        "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
        "nodeStatusUpdateFrequency": "4s", "syncFrequency": "10s", "oomScoreAdj": 0, "maxPods": 50,
        "shutdownGracePeriod": "0s"}, indent=1))
    return path


def write_proxy_config(folder: Path, settings: dict) -> Path:
    path = folder / "kube-proxy.json"
    path.write_text(json.dumps({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "nftables",
        "clientConnection": {"kubeconfig": settings["proxyKubeconfig"]}, "clusterCIDR": settings["allPods"],
        "hostnameOverride": settings["name"], "bindAddress": settings["address"], "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249", "oomScoreAdj": 0,
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"}}, indent=1))
    return path


class Program:
    def __init__(self, name: str, arguments: list, folder: Path):
        self.name = name
        self._arguments = [str(word) for word in arguments]
        (folder / "logs").mkdir(exist_ok=True)
        self._log = folder / "logs" / f"{name}.log"
        self.pid = None
        self.not_before = 0.0

    def start(self) -> None:
        environment = dict(os.environ, PATH="/usr/sbin:/usr/bin:/sbin:/bin")
        with open(self._log, "ab") as log:
            self.pid = subprocess.Popen(self._arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                        env=environment).pid

    def note_end(self, status: int) -> None:
        print(f"{self.name} ended with {os.waitstatus_to_exitcode(status)}", flush=True)
        self.pid = None
        self.not_before = time.monotonic() + PAUSE_BETWEEN_STARTS


def load_images(images: list[str]) -> None:
    until = time.monotonic() + 30
    while not os.path.exists(CONTAINERD_SOCKET):
        if time.monotonic() > until:
            raise RuntimeError("containerd has no socket after 30 s")
        time.sleep(0.05)
    for image in images:
        subprocess.run(["ctr", "--namespace=k8s.io", "images", "import", image], check=True)


def reap(programs: list[Program]) -> None:
    """Orphaned processes become children of this process."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        for program in programs:
            if program.pid == pid:
                program.note_end(status)


def run(settings: dict) -> None:
    folder = Path(settings["folder"])
    make_places(folder)
    join_cgroup(settings["cgroup"])
    subprocess.run(["hostname", settings["name"]], check=True)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    write_network_config(folder, settings)
    kubelet = [settings["programs"]["kubelet"], "--config", write_kubelet_config(folder, settings), "--kubeconfig",
               folder / "kubelet.kubeconfig", "--hostname-override", settings["name"], "--node-ip", settings["address"],
               "--pod-infra-container-image", "localhost/autopilot-test/pause:1"]
    proxy = [settings["programs"]["kube-proxy"], "--config", write_proxy_config(folder, settings)]
    containerd = Program("containerd", ["containerd", "--config", write_containerd_config(folder)], folder)
    programs = [containerd, Program("kubelet", kubelet, folder), Program("kube-proxy", proxy, folder)]
    containerd.start()
    load_images(settings["images"])
    while True:
        reap(programs)
        for program in programs:
            if program.pid is None and time.monotonic() >= program.not_before:
                program.start()
        time.sleep(0.2)


if __name__ == "__main__":
    run(json.loads(Path(sys.argv[1]).read_text()))
