# SPDX-License-Identifier: Apache-2.0
"""autopilot migrate: scripts of LSF and Slurm as manifests, and the scripts of these manifests in a real shell.

Each folder of tests/workloads/migrate/ is a case: `script`, `args` and the expected results. GOLDEN_UPDATE=1 writes what the
program prints now, for review.
"""

import json
import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest

import yaml

import harness

CASES = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "migrate"
UPDATE = bool(os.environ.get("GOLDEN_UPDATE"))


def run(*arguments, text=None, cwd=None):
    return subprocess.run([harness.AUTOPILOT, "migrate", *arguments], input=text, capture_output=True, text=True, cwd=cwd, check=False, timeout=60)


def as_json(script, *arguments):
    result = run("-", "-o", "json", *arguments, text=script)
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout)


def case_json(name):
    folder = CASES / name
    result = run("script", "-o", "json", *shlex.split((folder / "args").read_text()), cwd=folder)
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout)


def ids(made):
    return {finding["id"] for finding in made["findings"]}


def objects(made):
    found = {}
    for manifest in made["manifests"]:
        one = yaml.safe_load(manifest["text"])
        found[one["kind"]] = one
    return found


class GoldenCases(unittest.TestCase):
    def test_each_case_has_its_manifests_and_report(self):
        for folder in sorted(CASES.iterdir()):
            if not (folder / "script").exists():
                continue
            with self.subTest(folder.name):
                result = run("script", *shlex.split((folder / "args").read_text()), cwd=folder)
                report = f"exit {result.returncode}\n{result.stderr}"
                if UPDATE:
                    (folder / "expected.yaml").write_text(result.stdout)
                    (folder / "expected.txt").write_text(report)
                self.assertEqual((folder / "expected.yaml").read_text(), result.stdout)
                self.assertEqual((folder / "expected.txt").read_text(), report)
                for document in yaml.safe_load_all(result.stdout):
                    self.assertIn("kind", document)


class Facts(unittest.TestCase):
    """What the cases have to show, whatever the files contain."""

    def shape(self, name, part=0):
        layout = case_json(name)["job"]["requested"][part]
        return layout["hosts"], layout["tasks"], layout["gpusPerHost"]

    def test_the_allocation_is_what_the_scheduler_gives(self):
        for name, expected in {"G-M01": (4, 4, 2), "G-M02": (4, 4, 2), "G-M03": (1, 1, 1), "G-M04": (1, 1, 1), "G-M05": (1, 12, 4),
                               "G-M06": (1, 4, 2), "G-M09": (1, 1, 1), "G-M10": (1, 1, 1), "G-M11": (3, 96, 0), "G-M12": (21, 126, 6),
                               "G-M13": (2, 12, 6), "G-M15": (2, 2, 8), "G-M16": (1, 8, 8), "G-M17": (16, 128, 8)}.items():
            with self.subTest(name):
                self.assertEqual(expected, self.shape(name))

    def test_run_limits_are_read_as_each_scheduler_reads_them(self):
        lsf = {"23_59": 86340, "1200": 72000, "230": 13800, "48_00": 172800, "120_00": 432000, "0_08": 480, "3_30": 12600, "210": 12600}
        for name, seconds in lsf.items():
            self.assertEqual(seconds, case_json(f"G-M08-{name}")["job"]["runLimitSeconds"], name)
        slurm = [1800, 1800, 7200, 129600, 131400, 259200, 18000, 43200]
        for number, seconds in enumerate(slurm, 1):
            self.assertEqual(seconds, case_json(f"G-M14-{number}")["job"]["runLimitSeconds"], number)

    def test_the_seed_script_becomes_one_pod_with_its_findings(self):
        made = case_json("G-M01")
        self.assertLessEqual({"M-IDLE-HOSTS", "M-IDLE-GPUS", "M-NO-WALLTIME", "M-UNUSED-VAR", "M-UNDEF-VAR", "M-SITE-PATH", "M-WHOAMI",
                              "M-ARCH", "M-NIC", "M-VENDOR-MPI", "M-CONDA"}, ids(made))
        unused = {finding["what"].split()[0] for finding in made["findings"] if finding["id"] == "M-UNUSED-VAR"}
        self.assertLessEqual({"N", "TRAINFILE", "DATA_ROOT", "DATASET", "RESOLUTION"}, unused)
        job = objects(made)["Job"]
        self.assertEqual("biggan128-imagenet", job["metadata"]["name"])
        self.assertEqual("BigGAN128-ImageNet", job["metadata"]["annotations"]["autopilot.ibm.com/original-name"])
        self.assertNotIn("activeDeadlineSeconds", job["spec"])
        self.assertEqual(0, job["spec"]["backoffLimit"])
        pod = job["spec"]["template"]
        self.assertEqual("", pod["metadata"]["labels"]["autopilot"])
        container = pod["spec"]["containers"][0]
        self.assertEqual({"nvidia.com/gpu": "2"}, container["resources"]["limits"])
        self.assertEqual(["/bin/bash", "-l", "/autopilot/job/job.sh"], container["command"])
        names = {variable["name"] for variable in container["env"]}
        self.assertLessEqual({"LSB_JOBNAME", "LSB_QUEUE", "LSB_JOBID", "LSB_JOBINDEX", "LSB_DJOB_NUMPROC"}, names)
        self.assertIn("NCCL_SOCKET_IFNAME=eth0", made["script"])
        self.assertNotIn("#BSUB", made["script"])

    def test_the_seed_script_keeps_its_allocation_on_request(self):
        job = objects(case_json("G-M01-volcano"))["Job"]
        self.assertEqual("batch.volcano.sh/v1alpha1", job["apiVersion"])
        self.assertEqual(5, job["spec"]["minAvailable"])
        tasks = {task["name"]: task for task in job["spec"]["tasks"]}
        self.assertEqual((1, 4), (tasks["launcher"]["replicas"], tasks["worker"]["replicas"]))
        self.assertEqual([{"event": "TaskCompleted", "action": "CompleteJob"}], tasks["launcher"]["policies"])
        self.assertEqual("2", tasks["worker"]["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"])
        self.assertNotIn("mpirun", "".join(line for line in case_json("G-M01-volcano")["script"].splitlines() if "train.py" in line))

    def test_tasks_and_hosts_that_lsf_never_starts(self):
        self.assertIn("M-PTILE-GT-N", ids(case_json("G-M07")))

    def test_two_nodes_of_torchrun_meet_at_the_first_pod(self):
        made = case_json("G-M15")
        found = objects(made)
        job = found["Job"]["spec"]
        self.assertEqual(("Indexed", 2, 2, 0, 72000), (job["completionMode"], job["completions"], job["parallelism"], job["backoffLimit"],
                                                       job["template"]["spec"]["activeDeadlineSeconds"]))
        self.assertNotIn("activeDeadlineSeconds", job)
        self.assertEqual("None", found["Service"]["spec"]["clusterIP"])
        pod = job["template"]["spec"]
        self.assertEqual("llm-train", pod["subdomain"])
        self.assertEqual("10", pod["containers"][0]["resources"]["requests"]["cpu"])
        for text in ("--nnodes=2", "--nproc_per_node=8", "--node_rank=${JOB_COMPLETION_INDEX}", "llm-train-0.llm-train"):
            self.assertIn(text, made["script"])
        self.assertNotIn("scontrol", made["script"])
        self.assertNotIn("srun", made["script"])

    def test_arrays_have_their_indices(self):
        self.assertEqual((list(range(1, 11)), 1), self.array("G-M19-1"))
        self.assertEqual(([0], 1), self.array("G-M19-2"))
        self.assertEqual(([0, 6, *range(16, 33)], None), self.array("G-M19-3"))
        made = case_json("G-M11")
        self.assertEqual(list(range(1, 66)), made["job"]["arrayIndices"])
        replicated = objects(made)["JobSet"]["spec"]["replicatedJobs"][0]
        self.assertEqual((65, 3), (replicated["replicas"], replicated["template"]["spec"]["completions"]))
        self.assertEqual("std.%J.%I.o", made["job"]["output"])

    def array(self, name):
        job = case_json(name)["job"]
        return job["arrayIndices"], job.get("arrayThrottle")

    def test_heterogeneous_jobs_have_a_task_for_each_part(self):
        made = case_json("G-M17")
        spec = objects(made)["Job"]["spec"]
        self.assertEqual([16, 2], [task["replicas"] for task in spec["tasks"]])
        self.assertEqual(18, spec["minAvailable"])
        self.assertIn("M-DEPENDENCY", ids(made))

    def test_signals_get_their_time(self):
        for name, seconds in {"G-M18-1": 180, "G-M18-2": 120, "G-M18-3": 180}.items():
            pod = objects(case_json(name))["Job"]["spec"]["template"]["spec"]
            self.assertGreaterEqual(pod["terminationGracePeriodSeconds"], seconds, name)
        self.assertGreater(objects(case_json("G-M18-1"))["Job"]["spec"]["backoffLimit"], 0)
        self.assertEqual(0, objects(case_json("G-M16"))["Job"]["spec"]["backoffLimit"])

    def test_comments_are_not_directives(self):
        made = case_json("G-M20")
        self.assertIn("M-COMMENTED", ids(made))
        self.assertEqual(1, made["job"]["requested"][0]["hosts"])

    def test_memory_without_a_plausible_unit_needs_a_decision(self):
        made = case_json("G-M21")
        self.assertEqual(40 << 20, made["job"]["requested"][0]["memoryBytesPerHost"])
        self.assertIn("M-UNIT", ids(made))

    def test_dependencies_need_a_decision(self):
        texts = [finding["what"] for finding in case_json("G-M22")["findings"] if finding["id"] == "M-DEPENDENCY"]
        self.assertEqual(2, len(texts))

    def test_a_directive_after_a_command_counts_for_lsf_only(self):
        self.assertEqual(1800, case_json("G-M23-lsf")["job"]["runLimitSeconds"])
        slurm = case_json("G-M23-slurm")
        self.assertIsNone(slurm["job"]["runLimitSeconds"])
        self.assertIn("M-LATE-DIRECTIVE", ids(slurm))


class Scripts(unittest.TestCase):
    """What people write."""

    def test_a_clean_script_needs_no_decision(self):
        script = "#!/bin/bash\n#SBATCH --job-name=clean\n#SBATCH --time=10\n./app\n"
        result = run("-", "--image", "example/app:1", text=script)
        self.assertEqual(0, result.returncode, result.stderr)
        self.assertIn("Nothing needs a decision.", result.stderr)

    def test_windows_line_ends_tabs_quotes_and_comments(self):
        script = "#!/bin/bash\r\n#BSUB\t-J\t'my job'\t# a name\r\n#BSUB -n 2 -R \"span[hosts=1]\" -W 1:00\r\necho grüße\r\n"
        made = as_json(script)
        self.assertEqual(("my-job", 2, 3600), (made["job"]["name"], made["job"]["requested"][0]["tasks"], made["job"]["runLimitSeconds"]))
        self.assertNotIn("\r", made["script"])
        self.assertIn("grüße", made["script"])

    def test_an_unknown_option_is_a_finding(self):
        made = as_json("#!/bin/bash\n#SBATCH --nodez=2\n#SBATCH --time=10\n./app\n")
        finding = next(one for one in made["findings"] if one["id"] == "M-UNKNOWN-OPTION")
        self.assertEqual([2], finding["lines"])
        self.assertIn("--nodes", finding["what"])

    def test_secrets_are_in_no_output(self):
        token, key = "hf_abcdefghijklmnopqrstuvwx12", "0123456789abcdef0123456789abcdef01234567"
        script = (f"#!/bin/bash\n#SBATCH --export=ALL,API_KEY={key}\n#SBATCH --time=10\nexport HF_TOKEN={token}\n"
                  f"wandb login {key}\ncurl -H \"Authorization: Bearer {key}\" https://u:p4ssw0rd@example.com\n./app --password 'hunter2-99'\n")
        for arguments in (["-o", "json"], []):
            result = run("-", *arguments, text=script)
            for secret in (token, key, "p4ssw0rd", "hunter2-99"):
                self.assertNotIn(secret, result.stdout + result.stderr)
        made = as_json(script)
        self.assertIn("M-SECRET", ids(made))
        env = objects(made)["Job"]["spec"]["template"]["spec"]["containers"][0]["env"]
        self.assertIn({"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "job-secrets", "key": "HF_TOKEN"}}}, env)

    def test_a_script_of_ten_thousand_lines(self):
        body = "".join(f"echo 'line {number}' # it's fine\n" for number in range(10_000))
        made = as_json("#!/bin/bash\n#SBATCH -N 2\n#SBATCH --time=10\n" + body + "srun ./app\n")
        self.assertEqual(2, made["job"]["migrated"][0]["hosts"])

    def test_a_submit_command_wins_over_the_script(self):
        script = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --time=10\nsrun ./app\n"
        made = as_json(script, "--command", "sbatch --nodes=4 --ntasks-per-node=2 train.sh --lr 0.1")
        self.assertEqual(4, made["job"]["migrated"][0]["hosts"])
        self.assertEqual(["--lr", "0.1"], objects(made)["Job"]["spec"]["template"]["spec"]["containers"][0]["command"][-2:])

    def test_a_submit_command_alone(self):
        result = run("--command", "bsub -J direct -n 4 -R 'span[hosts=1]' -gpu num=2 -W 60 mpirun -np 4 ./train", "-o", "json")
        made = json.loads(result.stdout)
        self.assertEqual(("direct", 4, 2), (made["job"]["name"], made["job"]["requested"][0]["tasks"], made["job"]["requested"][0]["gpusPerHost"]))
        self.assertIn("mpirun -np 4 ./train", made["script"])

    def test_each_kind_of_job(self):
        script = "#!/bin/bash\n#SBATCH -J kinds\n#SBATCH -N 2\n#SBATCH --gpus-per-node=4\n#SBATCH --time=10\nsrun torchrun --nnodes 2 train.py\n"
        kinds = {"job": "batch/v1", "indexed": "batch/v1", "jobset": "jobset.x-k8s.io/v1alpha2", "volcano": "batch.volcano.sh/v1alpha1",
                 "pytorchjob": "kubeflow.org/v1", "mpijob": "kubeflow.org/v2beta1", "openshift": "batch/v1"}
        for kind, version in kinds.items():
            with self.subTest(kind):
                made = as_json(script, "--to", kind, "--image", "example/x:1")
                last = yaml.safe_load(made["manifests"][-1]["text"])
                self.assertEqual(version, last["apiVersion"])
        pod = objects(as_json(script, "--to", "openshift"))["Job"]["spec"]["template"]["spec"]
        self.assertEqual({"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}, pod["securityContext"])
        self.assertEqual({"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}, pod["containers"][0]["securityContext"])

    def test_queues_claims_and_node_labels(self):
        script = "#!/bin/bash\n#SBATCH -p gpu\n#SBATCH --gres=gpu:a100:2\n#SBATCH --time=10\npython /scratch/me/train.py\n"
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "map.yaml"
            file.write_text("queues:\n  gpu: {localQueue: team-a, priorityClass: high}\nnodes:\n  a100: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}\n")
            result = run("-", "--queue-map", str(file), "--pvc", "/scratch=team-scratch", "--image", "example/x:1", text=script)
            self.assertEqual(0, result.returncode, result.stderr)
        job = list(yaml.safe_load_all(result.stdout))[-1]
        self.assertEqual("team-a", job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"])
        pod = job["spec"]["template"]["spec"]
        self.assertEqual("high", pod["priorityClassName"])
        self.assertEqual({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}, pod["nodeSelector"])
        self.assertIn({"name": "data-0", "mountPath": "/scratch"}, pod["containers"][0]["volumeMounts"])

    def test_files_are_written_into_a_directory(self):
        with tempfile.TemporaryDirectory() as folder:
            result = run("-", "--out", f"{folder}/k8s", "--report", f"{folder}/report.txt", text="#!/bin/bash\n#SBATCH -J files\n#SBATCH -t 10\n./app\n")
            self.assertEqual(1, result.returncode)
            self.assertEqual("", result.stdout)
            self.assertEqual(["files-job.yaml", "files-script-configmap.yaml"], sorted(path.name for path in pathlib.Path(folder, "k8s").iterdir()))
            self.assertIn("M-IMAGE", pathlib.Path(folder, "report.txt").read_text())


class Objects(unittest.TestCase):
    FILES = ("buildconfig.yaml", "deployconfig.yaml", "pod.yaml", "workflows/openshift/Dockerfile", "workflows/openshift/scripts/entrypoint.sh")

    def test_objects_written_by_hand_become_a_consistent_set(self):
        folder = CASES / "G-M24"
        result = run("--objects", *self.FILES, "-o", "json", cwd=folder)
        self.assertEqual(1, result.returncode, result.stderr)
        made = json.loads(result.stdout)
        self.assertLessEqual({"M-DAEMON-KIND", "M-TAG-MISMATCH", "M-ENTRYPOINT-MISSING", "M-VISIBLE-ALL", "M-IDLE-GPUS"}, ids(made))
        files = {one["file"]: one["text"] for one in made["replacements"]}
        job = yaml.safe_load(files["gpu-biggan-job.yaml"])
        self.assertEqual("Job", job["kind"])
        pod = job["spec"]["template"]["spec"]
        self.assertEqual("Never", pod["restartPolicy"])
        container = pod["containers"][0]
        self.assertEqual(("registry.example:5000/ns/powerai:tmpdata", 1), (container["image"], container["resources"]["limits"]["nvidia.com/gpu"]))
        self.assertEqual(["NVIDIA_DRIVER_CAPABILITIES"], [variable["name"] for variable in container["env"]])
        self.assertIn("./workflows/openshift/scripts/entrypoint.sh", files["workflows/openshift/Dockerfile"])

    def test_a_consistent_set_is_written_into_a_directory(self):
        with tempfile.TemporaryDirectory() as out:
            result = run("--objects", *self.FILES, "--out", out, cwd=CASES / "G-M24")
            self.assertEqual(1, result.returncode, result.stderr)
            self.assertEqual(["Dockerfile", "buildconfig.yaml", "gpu-biggan-job.yaml", "pod.yaml"], sorted(path.name for path in pathlib.Path(out).iterdir()))
            again = run("--objects", *(f"{out}/{name}" for name in ("buildconfig.yaml", "gpu-biggan-job.yaml", "pod.yaml")))
            self.assertEqual(0, again.returncode, again.stderr)


class Refused(unittest.TestCase):
    def refuses(self, code, expected, *arguments, text=""):
        result = run(*arguments, text=text)
        self.assertEqual(code, result.returncode, result.stderr)
        self.assertIn(expected, result.stderr)
        self.assertEqual("", result.stdout)

    def test_what_cannot_be_read(self):
        self.refuses(78, "/nonexistent", "/nonexistent")
        self.refuses(78, "is a directory", "/tmp")
        self.refuses(78, "zero bytes", "-", text="#!/bin/bash\n\0")
        self.refuses(78, "--from", "-", text="#!/bin/bash\necho\n")
        self.refuses(78, "--node-shape", "-", "--node-shape", "cpus=many", text="#SBATCH -n 1\n")
        self.refuses(78, "--pvc", "-", "--pvc", "scratch", text="#SBATCH -n 1\n")
        self.refuses(78, "none of bsub", "--command", "qsub job.sh")
        self.refuses(64, "--to", "-", "--to", "pbs")


class Retries(unittest.TestCase):
    """What a lost node, a failed program and a signal do."""

    def spec(self, script, *arguments):
        made = objects(as_json(script, "--image", "x", *arguments))
        return made.get("Job", made.get("JobSet"))["spec"]

    def test_an_element_that_fails_does_not_end_the_others(self):
        for script in ("#!/bin/bash\n#BSUB -J a[1-100]\n#BSUB -r\n#BSUB -W 10\n./x\n",
                       "#!/bin/bash\n#SBATCH --array=1-100\n#SBATCH --requeue\n#SBATCH -t 10\n./x\n"):
            spec = self.spec(script)
            self.assertNotIn("backoffLimit", spec)
            self.assertEqual(3, spec["backoffLimitPerIndex"])
            self.assertEqual(["Ignore", "FailIndex"], [rule["action"] for rule in spec["podFailurePolicy"]["rules"]])

    def test_requeue_starts_no_failed_program_again(self):
        spec = self.spec("#!/bin/bash\n#SBATCH --requeue\n#SBATCH -t 10\n./x\n")
        lost, failed = spec["podFailurePolicy"]["rules"]
        self.assertEqual(("Ignore", "DisruptionTarget"), (lost["action"], lost["onPodConditions"][0]["type"]))
        self.assertEqual(("FailJob", "NotIn", [0]), (failed["action"], failed["onExitCodes"]["operator"], failed["onExitCodes"]["values"]))
        whole = self.spec("#!/bin/bash\n#SBATCH -N 2\n#SBATCH --requeue\n#SBATCH -t 10\nsrun ./x\n", "--to", "jobset")
        self.assertEqual([("FailJobSet", ["PodFailurePolicy"])],
                         [(rule["action"], rule["onJobFailureReasons"]) for rule in whole["failurePolicy"]["rules"]])

    def test_a_signal_reaches_the_script(self):
        def sent(script):
            container = self.spec(script)["template"]["spec"]["containers"][0]
            return container["lifecycle"]["preStop"]["exec"]["command"][-1]
        self.assertEqual("kill -USR2 -1; kill -USR2 1; sleep 120", sent("#!/bin/bash\n#BSUB -wa USR2\n#BSUB -wt 2\n#BSUB -W 10\n./x\n"))
        self.assertEqual("kill -USR1 1; sleep 60", sent("#!/bin/bash\n#SBATCH --signal=B:USR1@60\n#SBATCH -t 10\n./x\n"))
        self.assertEqual("kill -USR1 -1; sleep 60", sent("#!/bin/bash\n#SBATCH --signal=USR1@60\n#SBATCH -t 10\n./x\n"))

    def test_each_part_has_its_own_partition(self):
        spec = self.spec("#!/bin/bash\n#SBATCH -p first\n#SBATCH -N 2\n#SBATCH -t 10\n#SBATCH hetjob\n#SBATCH -p second\n#SBATCH -N 1\nsrun ./x\n")
        found = [(task["template"]["metadata"]["labels"]["autopilot.ibm.com/queue"],
                  next(one["value"] for one in task["template"]["spec"]["containers"][0]["env"] if one["name"] == "SLURM_JOB_PARTITION"))
                 for task in spec["tasks"]]
        self.assertEqual([("first", "first"), ("second", "second")], found)


class Launchers(unittest.TestCase):
    """What launchers did and pods do not do needs a decision."""

    def lines(self, body, finding, *arguments, head="#SBATCH -N 2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=4\n#SBATCH -t 10\n"):
        made = as_json("#!/bin/bash\n" + head + body, "--image", "x", *arguments)
        first = 2 + head.count("\n")
        return sorted((one["severity"], line - first) for one in made["findings"] if one["id"] == finding for line in one["lines"])

    def test_unknown_options_and_files(self):
        body = "srun --fancy ./a\nmpirun -rf rank.txt -np 8 ./x\njsrun --erf_input f ./x\nmpirun --fancy 2 ./x\n"
        self.assertEqual([("decision", line) for line in range(4)], self.lines(body, "M-LAUNCHER-OPTION"))
        known = "ddlrun --cores 4 python x.py\njsrun --stdio_stdout out ./x\njsrun -k e -o o ./x\nmpirun -mca btl tcp --report-bindings -np 8 ./x\n"
        self.assertEqual([], self.lines(known, "M-LAUNCHER-OPTION"))
        script = as_json("#!/bin/bash\n#BSUB -n 8\n#BSUB -R span[ptile=4]\n#BSUB -W 10\n" + known)["script"]
        self.assertIn("-np 8 python x.py", script)
        self.assertNotIn("out ./x", script)

    def test_gpus_of_steps(self):
        body = "srun -n 1 --gpus=1 ./a\nsrun -n 1 --gpus-per-task=1 ./b &\nsrun --gpus-per-task=1 ./c\nsrun ./d\n"
        self.assertEqual([("decision", 0), ("decision", 1)], self.lines(body, "M-STEP-GPUS"))

    def test_mpi_that_srun_starts(self):
        self.assertEqual([("decision", 0)], self.lines("srun --mpi=pmix -n 8 ./xhpl\nsrun --mpi=none -n 8 ./x\n", "M-MPI-SRUN"))
        self.assertEqual([], self.lines("srun --mpi=pmix -n 8 ./xhpl\n", "M-MPI-SRUN", "--to", "mpijob"))

    def test_the_launcher_has_no_gpu(self):
        body = "nvidia-smi\npython prepare.py --cuda\nmpirun -np 8 ./x --cuda\n"
        self.assertEqual([("decision", 1), ("warning", 0)], self.lines(body, "M-LAUNCHER-GPU"))

    def test_commands_that_every_pod_repeats_are_a_warning(self):
        def severity(body):
            made = as_json("#!/bin/bash\n#SBATCH -N 2\n#SBATCH -t 10\n" + body, "--image", "x")
            return [one["severity"] for one in made["findings"] if one["id"] == "M-EVERY-POD"]
        self.assertEqual(["note"], severity("export A=1\ncd /tmp\nsrun ./x\n"))
        self.assertEqual(["warning"], severity("rm -rf results\nsrun ./x\n"))

    def test_other_launchers_and_commands(self):
        self.assertEqual([("decision", 0), ("decision", 1), ("decision", 2)], self.lines("lrun -n 4 ./x\nibrun ./x\naprun -n 4 ./x\n", "M-LAUNCHER"))
        self.assertEqual([("decision", 0)], self.lines("scontrol requeue $SLURM_JOB_ID\n", "M-RESUBMIT"))
        self.assertEqual([("warning", 0)], self.lines("jslist\n", "M-SCHEDULER-COMMAND"))
        self.assertEqual([("decision", 0)], self.lines("srun --het-group=0,5 ./x\n", "M-LAUNCHER-OPTION"))


class InAShell(unittest.TestCase):
    """The files of the ConfigMap, run by a real shell as the pods run them."""

    def start(self, made, **variables):
        folder = tempfile.mkdtemp(prefix="autopilot-migrate-")
        self.addCleanup(subprocess.run, ["rm", "-rf", folder], check=False)
        data = objects(made)["ConfigMap"]["data"]
        for name, text in data.items():
            path = pathlib.Path(folder) / name
            path.write_text(text.replace("/autopilot/job", folder))
            path.chmod(0o755)
        env = {"PATH": os.environ["PATH"], "HOME": folder}
        kinds = objects(made)
        spec = kinds.get("Job", kinds.get("JobSet"))["spec"]
        template = spec["template"] if "template" in spec else spec["tasks"][0]["template"]
        for variable in template["spec"]["containers"][0]["env"]:
            env[variable["name"]] = variable.get("value", "0f5c1a52-uid")
        env.update(variables)
        result = subprocess.run(["/bin/bash", f"{folder}/job.sh"], env=env, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual("", result.stderr)
        self.assertEqual(0, result.returncode)
        return result.stdout.split("\n")[:-1]

    def test_the_variables_of_slurm(self):
        script = ("#!/bin/bash\n#SBATCH -J vars\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=2\n#SBATCH -t 10\n"
                  "echo $SLURM_NNODES $SLURM_NODEID $SLURM_JOB_NODELIST $((SLURM_JOB_ID % 1))\nscontrol show hostnames $SLURM_JOB_NODELIST\n"
                  "srun sh -c 'echo rank $SLURM_PROCID of $SLURM_NTASKS, local $SLURM_LOCALID' | sort\n"
                  "srun --nodes=1 --ntasks=1 echo first\n")
        made = as_json(script, "--image", "x")
        second = self.start(made, JOB_COMPLETION_INDEX="1")
        self.assertEqual(["2 1 vars-0.vars,vars-1.vars 0", "vars-0.vars", "vars-1.vars", "rank 2 of 4, local 0", "rank 3 of 4, local 1"], second)
        self.assertEqual("first", self.start(made, JOB_COMPLETION_INDEX="0")[-1])

    def test_the_variables_of_lsf(self):
        script = ("#!/bin/bash\n#BSUB -J vars\n#BSUB -n 2\n#BSUB -R span[hosts=1]\n#BSUB -W 10\n"
                  "echo $LSB_JOBNAME $LSB_DJOB_NUMPROC $((LSB_JOBID % 1)) $LSB_JOBINDEX\nwc -l < $LSB_DJOB_HOSTFILE\n")
        self.assertEqual(["vars 2 0 0", "2"], self.start(as_json(script, "--image", "x")))

    def test_the_elements_of_an_array(self):
        sparse = as_json("#!/bin/bash\n#SBATCH -a 0,6,16-32\n#SBATCH -t 10\necho $SLURM_ARRAY_TASK_ID\n")
        self.assertEqual(["6"], self.start(sparse, JOB_COMPLETION_INDEX="1"))
        self.assertEqual(["32"], self.start(sparse, JOB_COMPLETION_INDEX="18"))
        stepped = as_json("#!/bin/bash\n#BSUB -J a[10-30:5]\n#BSUB -W 10\necho $LSB_JOBINDEX\n")
        self.assertEqual(["20"], self.start(stepped, JOB_COMPLETION_INDEX="2"))

    def test_a_failing_rank_fails_srun(self):
        made = as_json("#!/bin/bash\n#SBATCH -n 2 -N 1\n#SBATCH -t 10\nsrun sh -c 'exit $SLURM_PROCID' || echo failed $?\n")
        self.assertEqual(["failed 1"], self.start(made))

    def srun(self, commands, options="-n 2 -N 1", **variables):
        return self.start(as_json(f"#!/bin/bash\n#SBATCH -J steps\n#SBATCH {options}\n#SBATCH -t 10\n" + commands), **variables)

    def test_options_of_srun_with_values_behind_a_blank(self):
        for options in ("--hint nomultithread", "--ntasks-per-gpu 1 -n 2", "--wait 60", "-W 0", "--container-image X", "-lu -K1 -c4", "--exclusive",
                        "--kill-on-bad-exit=1 --mem-bind local", "--unbuffered --cpu-bind none", "-wlocalhost"):
            with self.subTest(options):
                self.assertEqual(["hi", "hi"], self.srun(f"srun {options} echo hi\n", "-n 2 -N 1 --gpus-per-node=2"))
        self.assertEqual(["bar"], self.srun("srun -n 1 --export=ALL,FOO=bar sh -c 'echo $FOO'\n"))

    def test_what_srun_does_not_know_fails_with_a_message(self):
        for options, message in (("--fancy", "--fancy is not known"), ("--fancy=2", "--fancy is not known"), ("--multi-prog", "--multi-prog"),
                                 ("-n", "-n has no value"), ("-n 1", "no program")):
            with self.subTest(options):
                program = "" if options.startswith("-n") else "x.conf"
                shown = self.srun(f"srun {options} {program} > out 2>&1 || echo code $?\ncat out\n")
                self.assertEqual("code 2", shown[0])
                self.assertIn(message, shown[1])

    def test_each_rank_has_its_gpus(self):
        show = "sh -c 'echo $SLURM_LOCALID ${CUDA_VISIBLE_DEVICES-all}' | sort\n"
        four = "-N 1 -n 2 --gpus-per-node=4"
        self.assertEqual(["0 0", "1 1"], self.srun(f"srun --gpus-per-task=1 {show}", four))
        self.assertEqual(["0 0,1", "1 2,3"], self.srun(f"srun --gpus-per-task=2 {show}", four))
        self.assertEqual(["0 all", "1 all"], self.srun(f"srun {show}", four))
        self.assertEqual(["0 all", "1 all"], self.srun(f"srun --gpus-per-task=1 --gpu-bind=none {show}", four))
        self.assertEqual(["0 0", "1 1"], self.srun(f"srun {show}", "-N 1 -n 2 --gpus-per-task=1"))

    def test_jsrun_gives_each_resource_set_its_gpus(self):
        made = as_json("#!/bin/bash\n#BSUB -nnodes 1\n#BSUB -W 10\njsrun -n 2 -r 2 -a 2 -c 2 -g 2 ./x\n", "--node-shape", "cpus=42,gpus=6,mem=512G")
        self.assertIn("gpus_of_rank 2 2 ./x", made["script"])
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "gpus_of_rank"
            program.write_text(objects(made)["ConfigMap"]["data"]["gpus_of_rank"])
            def gpus(**variables):
                return subprocess.run(["sh", str(program), "2", "2", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"], env={"PATH": os.environ["PATH"], **variables},
                                      capture_output=True, text=True, check=False)
            self.assertEqual(["0,1", "0,1", "2,3", "2,3"], [gpus(OMPI_COMM_WORLD_LOCAL_RANK=str(rank)).stdout.strip() for rank in range(4)])
            self.assertEqual(2, gpus().returncode)

    def test_a_step_runs_in_the_components_that_it_names(self):
        made = as_json("#!/bin/bash\n#SBATCH -J het\n#SBATCH -N 1\n#SBATCH -t 10\n#SBATCH hetjob\n#SBATCH -N 1\n#SBATCH hetjob\n#SBATCH -N 1\n"
                       "srun --het-group=0,1 echo two\nsrun --het-group=0-2 echo three\n")
        shown = [self.start(made, VC_TASK_INDEX="0", AUTOPILOT_PART=part) for part in "012"]
        self.assertEqual([["two", "three"], ["two", "three"], ["three"]], shown)

    def test_each_part_of_a_heterogeneous_job_runs_its_program(self):
        script = "#!/bin/bash\n#SBATCH -J het\n#SBATCH -N 2\n#SBATCH -t 10\n#SBATCH hetjob\n#SBATCH -N 1\nsrun --het-group=0 echo a : --het-group=1 echo b\n"
        made = as_json(script)
        self.assertEqual(["a"], self.start(made, VC_TASK_INDEX="1", AUTOPILOT_PART="0"))
        self.assertEqual(["b"], self.start(made, VC_TASK_INDEX="0", AUTOPILOT_PART="1"))


if __name__ == "__main__":
    unittest.main()
