# SPDX-License-Identifier: Apache-2.0
"""autopilot decode: the same faults in every log format, and files that are not logs."""

import json
import os
import subprocess
import tempfile
import unittest

import harness

# Each record as the kernel has it, and what decode must say of it in whatever form it comes.
RECORDS = (
    ("NVRM: Xid (PCI:0000:3b:00 GPU-I:09 GPU-CI:08): 13, pid=7, name=a, b: c, Graphics Exception: ChID 0010",
     {"kind": "xid", "rule": "xid.13", "code": 13, "pci": "0000:3b:00.0", "gpuInstance": 9, "computeInstance": 8,
      "pid": 7, "process": "a, b: c", "text": "Graphics Exception: ChID 0010", "class": "app"}),
    ("NVRM: Xid (PCI:0000:3b:00): 45, pid=1190, name=nccl-test, Ch 0000000b caused by previous Xid 94",
     {"kind": "xid", "rule": "xid.45", "code": 45, "causedBy": 94, "process": "nccl-test", "class": "sympathetic",
      "action": "none"}),
    ("NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
     {"kind": "xid", "rule": "xid.79", "code": 79, "pci": "0000:3b:00.0", "action": "power_cycle"}),
    ("NVRM: Xid (PCI:0000:1b:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 "
     "(0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
     {"kind": "xid", "rule": "xid.149", "code": 149, "class": "nvlink",
      "nvlink": {"unit": "NETIR_LINK_EVT", "severity": "Fatal", "link": 8, "status": "0x00000000", "reason": 4,
                 "registers": "0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000"}}),
    ("NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
     {"kind": "xid", "code": 154, "recoveryAction": "reset_gpu", "recoveryFrom": 0, "recoveryTo": 1, "class": "verdict"}),
    ("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)",
     {"kind": "sxid", "rule": "sxid.12028", "code": 12028, "pci": "0000:c1:00.0", "severity": "Non-fatal",
      "nvlink": {"link": 32}}),
    ("Out of memory: Killed process 4711 (a (b) c) total-vm:105624kB, anon-rss:102400kB, file-rss:0kB",
     {"kind": "oom", "rule": "memory.oom_global", "pid": 4711, "process": "a (b) c"}),
    ("EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm bash: reading directory lblock 0",
     {"kind": "ext4", "rule": "filesystem.ext4_error", "device": "sda1"}),
)


def journal_json(text):
    return json.dumps({"__REALTIME_TIMESTAMP": "1795230245678901", "_TRANSPORT": "kernel", "SYSLOG_FACILITY": "0",
                       "PRIORITY": "3", "_SOURCE_MONOTONIC_TIMESTAMP": "2750000123", "MESSAGE": text})


# Format, one line of it, and whether it states that the kernel wrote the line.
FORMS = (
    ("dmesg", lambda text: "[ 2750.000123] " + text, False),
    ("dmesg -T", lambda text: "[Sat Nov 21 03:04:05 2026] " + text, False),
    ("dmesg -x", lambda text: "kern  :err   : [ 2750.000123] " + text, True),
    ("dmesg -r", lambda text: "<3>[ 2750.000123] " + text, True),
    ("journalctl -o short", lambda text: "Nov 21 03:04:05 node-1 kernel: " + text, False),
    ("journalctl -o short-iso", lambda text: "2026-11-21T03:04:05+0000 node-1 kernel: " + text, False),
    ("journalctl -o json", journal_json, True),
    ("syslog", lambda text: "Nov 21 03:04:05 node-1 kernel: [ 2750.000123] " + text, False),
    ("syslog, RFC 3339", lambda text: "2026-11-21T03:04:05.678901+00:00 node-1 kernel: [ 2750.000123] " + text, False),
    ("/dev/kmsg", lambda text: "3,1042,2750000123,-;" + text, True),
)

# Members that only some formats contain.
OF_THE_FORM = ("fromKernel", "fromUser", "time", "secondsSinceBoot")

TYPES = {
    "kind": str, "rule": str, "code": int, "name": str, "pci": str, "gpuInstance": int, "computeInstance": int,
    "pid": int, "process": str, "text": str, "causedBy": int, "injected": bool, "nvlink": dict, "recoveryAction": str,
    "class": str, "action": str, "fromKernel": bool, "line": int,
}


def decode(content):
    """Decodes the bytes as a file: exit code, the records, standard error."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        code, out, error = harness.run("decode", "-o", "json", file.name)
    return code, [json.loads(line) for line in out.splitlines()], error


def without(record, names):
    return {name: value for name, value in record.items() if name not in names}


class DecodeFormsTest(unittest.TestCase):
    def test_the_same_faults_are_read_the_same_in_every_form(self):
        first = None
        for form, line_of, is_verified in FORMS:
            with self.subTest(form):
                lines = [line_of(text) for text, _ in RECORDS]
                code, found, error = decode(("\n".join(lines) + "\n").encode())
                self.assertEqual((code, error), (0, ""))
                self.assertEqual(len(found), len(RECORDS))
                for number, (record, (_, expected)) in enumerate(zip(found, RECORDS), start=1):
                    self.assertEqual({name: record.get(name) for name in expected}, expected)
                    self.assertEqual(record["line"], number)
                    self.assertIs(record["fromKernel"], is_verified)
                facts = [without(record, OF_THE_FORM) for record in found]
                first = first or facts
                self.assertEqual(facts, first)

    def test_every_fact_has_its_type(self):
        seen = set()
        _, found, _ = decode("\n".join(text for text, _ in RECORDS).encode())
        for record in found:
            seen.update(record)
            for name in TYPES.keys() & record.keys():
                self.assertIs(type(record[name]), TYPES[name], f"{name} of {record}")
            for name in ("kind", "rule", "name", "text", "class", "action", "injected", "fromKernel", "line"):
                self.assertIn(name, record)
        self.assertEqual(TYPES.keys() - seen, set())

    def test_lines_of_windows_and_blank_ones_change_nothing_but_the_number(self):
        text = "[    1.000000] " + RECORDS[2][0]
        _, plain, _ = decode((text + "\n").encode())
        code, found, _ = decode(("\r\n\r\n" + text + "\r\n").encode())
        self.assertEqual(code, 0)
        self.assertEqual([record["line"] for record in found], [3])
        self.assertEqual([without(record, ("line",)) for record in found],
                         [without(record, ("line",)) for record in plain])


class DecodeWrongFilesTest(unittest.TestCase):
    def test_a_file_without_records_says_so(self):
        for content, words in ((b"", "in 0 lines"), (b"\n\n", "in 2 lines"), (b"\xff\xfe hello\n", "in 1 line\n")):
            with self.subTest(content):
                code, found, error = decode(content)
                self.assertEqual((code, found), (0, []))
                self.assertIn("no known record " + words, error)

    def test_zeroes_that_a_crash_left_hide_no_record(self):
        line = ("[    1.000000] " + RECORDS[2][0] + "\n").encode()
        code, found, _ = decode(b"\0" * 3000 + b"\n" + line)
        self.assertEqual((code, len(found)), (0, 1))

    def test_what_is_no_text_is_refused(self):
        code, found, error = decode(b"\x7fELF\0\0\0\0")
        self.assertEqual((code, found), (64, []))
        self.assertIn("not a text file", error)

    def test_a_line_of_ten_megabytes_hides_no_other(self):
        line = ("[    1.000000] " + RECORDS[2][0] + "\n").encode()
        code, found, _ = decode(b"x" * 10_000_000 + b"\n" + line)
        self.assertEqual(code, 0)
        self.assertEqual([(record["code"], record["line"]) for record in found], [(79, 2)])

    def test_a_folder_and_a_missing_file_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for path, words in ((folder, "is a directory"), (folder + "/missing", "No such file")):
                with self.subTest(words):
                    code, out, error = harness.run("decode", path)
                    self.assertEqual((code, out), (64, ""))
                    self.assertIn(path, error)
                    self.assertIn(words, error)

    def test_a_file_that_may_not_be_read_is_named(self):
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        with tempfile.NamedTemporaryFile() as file:
            os.chmod(file.name, 0)
            try:
                done = subprocess.run([harness.AUTOPILOT, "decode", file.name], capture_output=True, text=True,
                                      timeout=60, check=False, **nobody)
            except PermissionError as error:
                self.skipTest(f"another user may not start the program: {error}")
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertIn(file.name, done.stderr)
        self.assertIn("Permission denied", done.stderr)


if __name__ == "__main__":
    unittest.main()
