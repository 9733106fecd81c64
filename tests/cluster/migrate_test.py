# SPDX-License-Identifier: Apache-2.0
"""Manifests of `autopilot migrate` at a real API server: it accepts those of every golden case (tests/workloads/migrate) as every kind of
job, without unknown fields, and translated jobs of two pods run to their end on two nodes."""

import os
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

from kit import images, testing
from kit.api import ApiError
from kit.cluster import ROOT, Cluster
from kit.crds import Kinds
from kit.reason import CannotRun

CASES = ROOT / "tests" / "workloads" / "migrate"
TARGETS = ("job", "indexed", "jobset", "volcano", "pytorchjob", "mpijob", "openshift")
SPACE = "autopilot-migrate"
PATIENCE = 120
LONGEST_HOST_NAME = 63

QUEUE_MAP = """queues:
  normal: {localQueue: team-a, volcanoQueue: team-a, priorityClass: system-node-critical}
nodes:
  a100: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}
"""
# With everything that becomes a field: a queue, an array with a throttle, retries, a signal, a dependency, memory, scratch space.
FULL = r"""#!/bin/bash
#BSUB -J "Full[1-4]%2"
#BSUB -q normal
#BSUB -n 8
#BSUB -R "span[ptile=4] rusage[mem=4GB] select[a100]"
#BSUB -gpu "num=4"
#BSUB -W 2:00
#BSUB -x
#BSUB -r
#BSUB -Q "3 5"
#BSUB -wa USR1
#BSUB -wt 5
#BSUB -env "all, TOKEN=secret"
mpirun -n 8 ./solver
"""
# Names of pods contain the name of the job and numbers, and names of services begin with a letter.
LONG_NAME = "#!/bin/bash\n#SBATCH --job-name=" + 9 * "3d-gan_of.Me" + "\n#SBATCH -N 1000\n#SBATCH --array=0-999\n#SBATCH -t 5\nsrun ./train\n"
# The second rank ends when it has read what the first one sends from the address that the job gives.
RANKS = """#!/bin/sh
#SBATCH --job-name=Two_Ranks
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=5
srun sh -c 'echo "rank $SLURM_PROCID of $SLURM_NTASKS on $(hostname)"
if [ "$SLURM_PROCID" = 0 ]; then echo "greeting of rank 0" | nc -l -p "$MASTER_PORT"
else until nc "$MASTER_ADDR" "$MASTER_PORT" 2>/dev/null; do sleep 1; done; fi'
"""
ARRAY = """#!/bin/sh
#BSUB -J "Elements[3,7]"
#BSUB -n 1
#BSUB -W 5
#BSUB -x
echo "element $LSB_JOBINDEX on $(hostname)"
"""


def migrate(script, *arguments):
    program = Path(os.environ["AUTOPILOT_BIN_DIR"]) / "autopilot"
    done = subprocess.run([program, "migrate", str(script), *arguments], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode not in (0, 1):
        raise AssertionError(f"autopilot migrate {script} {' '.join(arguments)}: {done.returncode}: {done.stderr}")
    return done.stdout


def without_target(arguments):
    """The arguments of a case but `--to KIND`."""
    at = arguments.index("--to") if "--to" in arguments else len(arguments)
    return arguments[:at] + arguments[at + 2:]


def pod_template(name, owner):
    if len(name) > LONGEST_HOST_NAME:
        raise AssertionError(f"{name} is too long for the name of a host")
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name}, "template": owner["template"]}


def inner_objects(manifests):
    """The templates of pods and jobs in these objects, as objects that the server checks completely: a definition describes only fields,
    and the server has the rules for the values."""
    for object_ in yaml.load_all(manifests, yaml.CSafeLoader):
        name = object_["metadata"]["name"]
        spec = object_.get("spec", {})
        for task in spec.get("tasks", []):
            yield pod_template(f"{name}-{task['name']}-{task['replicas'] - 1}", task)
        for kind in ("pytorchReplicaSpecs", "mpiReplicaSpecs"):
            for role, replica in spec.get(kind, {}).items():
                yield pod_template(f"{name}-{role.lower()}-{replica['replicas'] - 1}", replica)
        for job in spec.get("replicatedJobs", []):
            yield {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": f"{name}-{job['name']}-{job['replicas'] - 1}"},
                   "spec": job["template"]["spec"]}


class ManifestsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = Cluster().open().api
        try:
            kinds = Kinds(cls.api)
        except CannotRun as reason:
            print(f"SKIP: {reason}", flush=True)
            raise unittest.SkipTest(str(reason)) from reason
        cls.enterClassContext(kinds)

    def refusal(self, manifests):
        """The words of the server; empty if it accepts the objects without a warning."""
        try:
            self.api.run("apply", "--dry-run=server", "--validate=strict", "--warnings-as-errors", "-f", "-", text=manifests)
        except ApiError as error:
            return str(error)
        return ""

    def check(self, script, *arguments, **made):
        """All kinds of job of this script, and further manifests `made`."""
        for target in TARGETS:
            manifests = migrate(script, *arguments, "--to", target)
            made[target] = "---\n".join([manifests, *map(yaml.safe_dump, inner_objects(manifests))])
        if self.refusal("---\n".join(made.values())):
            for target, manifests in made.items():
                with self.subTest(script=str(script), to=target):
                    self.assertEqual("", self.refusal(manifests))

    def test_the_server_accepts_every_case_as_every_kind(self):
        cases = sorted(folder for folder in CASES.iterdir() if (folder / "script").exists())
        self.assertGreater(len(cases), 40)
        for folder in cases:
            self.check(folder / "script", *without_target(shlex.split((folder / "args").read_text())),
                       expected=(folder / "expected.yaml").read_text())

    def test_the_server_accepts_queues_claims_retries_signals_arrays_and_long_names(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "long.slurm").write_text(LONG_NAME)
            self.check(f"{folder}/long.slurm", "--image", "example/x:1")
            (Path(folder) / "map.yaml").write_text(QUEUE_MAP)
            (Path(folder) / "full.lsf").write_text(FULL)
            arguments = ["--image", "example/x:1", "--queue-map", f"{folder}/map.yaml", "--pvc", "/data=claim-a", "--pvc", "$SCRATCH=claim-b",
                         "--user", "me", "--workdir", "/data/me"]
            self.check(f"{folder}/full.lsf", *arguments)
            made = list(yaml.safe_load_all(migrate(f"{folder}/full.lsf", *arguments, "--to", "indexed")))
        # What the label names can be a queue of Kueue.
        queue = made[-1]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]
        self.assertEqual("", self.refusal(yaml.safe_dump({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue",
                                                          "metadata": {"name": queue}, "spec": {"clusterQueue": "all"}})))

    def test_an_unknown_field_is_refused(self):
        for target in TARGETS:
            with self.subTest(target):
                objects = list(yaml.safe_load_all(migrate(CASES / "G-M15" / "script", "--image", "example/x:1", "--to", target)))
                objects[-1]["spec"]["unheardOf"] = 1
                self.assertIn("unheardOf", self.refusal(yaml.safe_dump_all(objects)))


class RunTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.cluster.need_nodes(2)
        cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "namespace", SPACE)
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        cls.api.wait(lambda: cls.api.get("serviceaccount", "default", "-n", SPACE), "the account of the pods is there")

    def run_to_its_end(self, name, script):
        """The log of each pod, and the nodes of the pods."""
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            file.write(script)
            file.flush()
            manifests = migrate(file.name, "--image", images.name_of("busybox"), "--to", "indexed")
        self.api.run("apply", "-n", SPACE, "-f", "-", text=manifests)
        self.addCleanup(self.api.run, "delete", "-n", SPACE, "--ignore-not-found", "-f", "-", text=manifests)
        self.api.wait(lambda: self.has_ended(name), f"the job {name} ends", PATIENCE)
        pods = self.api.get("pods", "-n", SPACE, "-l", f"batch.kubernetes.io/job-name={name}")["items"]
        pods.sort(key=lambda pod: int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]))
        logs = [self.api.run("logs", "-n", SPACE, pod["metadata"]["name"]) for pod in pods]
        self.assertEqual("Complete", self.has_ended(name), logs)
        return logs, [pod["spec"]["nodeName"] for pod in pods]

    def has_ended(self, name):
        """The condition with which it ended."""
        conditions = self.api.get("job", name, "-n", SPACE)["status"].get("conditions", [])
        return next((one["type"] for one in conditions if one["type"] in ("Complete", "Failed") and one["status"] == "True"), None)

    def test_two_ranks_of_slurm_meet_on_two_nodes(self):
        logs, nodes = self.run_to_its_end("two-ranks", RANKS)
        self.assertEqual(sorted(node.name for node in self.cluster.nodes[:2]), sorted(nodes))
        self.assertIn("rank 0 of 2 on two-ranks-0\n", logs[0])
        self.assertIn("rank 1 of 2 on two-ranks-1\n", logs[1])
        self.assertIn("greeting of rank 0\n", logs[1])

    def test_the_elements_of_an_lsf_array_have_their_numbers(self):
        logs, _ = self.run_to_its_end("elements", ARRAY)
        self.assertEqual(2, len(logs))
        self.assertIn("element 3 on elements-0\n", logs[0])
        self.assertIn("element 7 on elements-1\n", logs[1])


if __name__ == "__main__":
    testing.main()
