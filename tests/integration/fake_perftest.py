#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replaces ib_write_bw, ib_read_bw and ib_send_lat of perftest, under their names. Both sides only talk over TCP, and the
printed figures are the configured ones.

FAKE_PERFTEST names a file of JSON; the values of the own device take precedence over those of "default":
  rates     Gbit/s and microseconds by the name of the program: {"ib_write_bw": 391.4, "ib_send_lat": 1.27}
  has_cuda  it is built with CUDA: "gpu_rates", "gpu_sends" and "gpu_gets" replace the values without gpu_ for tests with the memory of
            a GPU; "unreachable_gpus" have none for the adapter
  nvml      the table of the simulated driver (nvml.yaml of a machine), which counts the users of the memory of a GPU
  version   "4.5" (knows --source_ip), "newer" (--bind_source_ip) or "older" (neither)
  speed     how much faster than requested a test ends
  sends, gets   upper limit of the own port in Gbit/s, in each direction, whatever the rates are
  is_dead   the own port passes nothing, though both sides agree over TCP
  server, client   fault of that side: {"ib_read_bw": HOW}, or HOW of all programs:
            hang, garbage, flood, crash, exit, wrong_version, no_device, no_memory, early_hang (before it listens), vanish
            (ends in the middle of a test), slow_start, other_unit, two_rows, status_10"""

import argparse
import contextlib
import fcntl
import ipaddress
import json
import os
import re
import signal
import socket
import sys
import time

NAME = os.path.basename(sys.argv[0])
IS_LATENCY = NAME == "ib_send_lat"
SIZE = 2 if IS_LATENCY else 65536
LINE = "-" * 87


def facts_of(device):
    path = os.environ.get("FAKE_PERFTEST")
    told = {}
    if path:
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
    return {"version": "4.5", "speed": 20, "rates": {}} | told.get("default", {}) | told.get(device, {})


def give_up(*lines, code=1):
    sys.stderr.write("\n".join(lines) + "\n")
    sys.stderr.flush()
    sys.exit(code)


def parsed(version, has_cuda):
    parser = argparse.ArgumentParser(prog=NAME, add_help=False, allow_abbrev=False)
    for name in ("-d", "-f", "--rate_limit", "--rate_limit_type", "--rate_units"):
        parser.add_argument(name)
    for name in ("-i", "-p", "-D", "-s", "-q", "-n"):
        parser.add_argument(name, type=int)
    if has_cuda:
        parser.add_argument("--use_cuda_bus_id")
    for name in ("-F", "--report_gbits"):
        parser.add_argument(name, action="store_true")
    source = {"4.5": "--source_ip", "newer": "--bind_source_ip"}.get(version)
    if source:
        parser.add_argument(source, dest="source")
    parser.add_argument("host", nargs="?", type=ipaddress.IPv4Address)
    parser.error = lambda words: give_up(f" {words}", " Invalid Command line. Please check command rerun ")
    return parser.parse_args()


def print_help(version, has_cuda):
    print(f"Usage:\n  {NAME}            start a server and wait for connection\n  {NAME} <host>     connect to server at <host>\n\nOptions:")
    print("  -d, --ib-dev=<dev>  Use IB device <dev> (default first device found)\n  -F, --CPU-freq  Do not show a warning")
    if version == "4.5":
        print("      --source_ip  Source IP of the interface used for connection establishment. By default taken from routing table.")
    if has_cuda:
        print("      --use_cuda=<cuda device id>  Use CUDA specific device for GPUDirect RDMA testing")
        print("      --use_cuda_bus_id=<cuda full BUS id>  Use CUDA specific device, based on its full PCIe address")
    if version == "newer":
        print("      --bind_source_ip  Source IP of the interface used for connection establishment.")
    sys.exit(1)


def misbehave(how):
    """A fault instead of a test, or before it."""
    if how in ("hang", "early_hang"):
        time.sleep(600)
    if how == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "garbage":
        os.write(1, b"\x00\xff#bytes 65536\n\x1b[2J")
        sys.exit(0)
    if how == "flood":
        while True:
            os.write(1, b"flood\n" * 10000)
    if how == "exit":
        give_up(" Something happened", code=9)
    if how == "no_memory":
        give_up("Couldn't allocate MR", " Couldn't create IB resources")
    if how == "no_device":
        give_up(" Did not detect devices ", " If device exists, check if driver is up", " Unable to find the Infiniband/RoCE device")
    if how == "wrong_version":
        give_up("Current implementation is not compatible with versions older than 5.70")


def peer_of(options):
    """The other end, connected, and whether this one is the server."""
    source = getattr(options, "source", None)
    if options.host is None:
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                server.bind((source or "", options.p))
            except OSError:
                give_up(f"Couldn't listen to port {options.p}", " Unable to open file descriptor for socket connection")
            server.listen(1)
            return server.accept()[0]
    try:
        return socket.create_connection((str(options.host), options.p), source_address=(source or "", 0))
    except OSError:
        return give_up(f"Couldn't connect to {options.host}:{options.p}", " Unable to open file descriptor for socket connection",
                       " Failed to exchange data between server and clients")


def count_process(table, gpu, change):
    with open(f"{table}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(table, encoding="utf-8") as file:
            before, after = file.read().split(f'"{gpu}":')
        after = re.sub(r"(processes\.count: )(\d+)", lambda found: found[1] + str(int(found[2]) + change), after, count=1)
        with open(f"{table}.new", "w", encoding="utf-8") as file:
            file.write(f'{before}"{gpu}":{after}')
        os.replace(f"{table}.new", table)


@contextlib.contextmanager
def on_gpu(table, gpu):
    """The driver has this process among those of the GPU meanwhile."""
    if table and gpu:
        count_process(table, gpu, 1)
    try:
        yield
    finally:
        if table and gpu:
            count_process(table, gpu, -1)


def exchange(peer, words):
    """The line that the other end sends at the same point, and nothing of its next one; None when it is gone."""
    try:
        peer.sendall((json.dumps(words) + "\n").encode())
        text = b""
        while not text.endswith(b"\n"):
            part = peer.recv(1)
            if not part:
                return None
            text += part
        return json.loads(text)
    except OSError:
        return None


def rate_between(own, other, limit):
    """Rate that the client prints, in Gbit/s: this side sends a write, the other side sends a read."""
    sender, getter = (other, own) if NAME == "ib_read_bw" else (own, other)
    bounds = [sender.get("sends"), getter.get("gets"), limit]
    return min([own["rates"].get(NAME, 98.02), *(bound for bound in bounds if bound)])


def print_bandwidth(rate, how):
    unit = "MiB/sec" if how == "other_unit" else "Gb/sec"
    print(f" #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]")
    for _ in range(2 if how == "two_rows" else 1):
        print("Conflicting CPU frequency values detected: 1500.000000 != 3300.016000. CPU Frequency is not max.")
        print(f" {SIZE:<7}    {int(rate * 5000):<10}       0.00               {rate:.2f}  \t\t     {rate / 8 / SIZE * 1000:.6f}")


def print_latency(typical):
    print(" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   "
          "99.9% percentile[usec] ")
    print(f" {SIZE}       5000          {typical * 0.97:.2f}           {typical * 4:.2f}         {typical:.2f}     \t       {typical:.2f}        "
          f"\t0.00   \t\t{typical * 1.1:.2f}    \t\t{typical * 4:.2f}   ")


def main():
    if "--help" in sys.argv or "-h" in sys.argv:
        print_help(facts_of("")["version"], facts_of("").get("has_cuda"))
    device = sys.argv[sys.argv.index("-d") + 1] if "-d" in sys.argv else ""
    facts = facts_of(device)
    options = parsed(facts["version"], facts.get("has_cuda"))
    gpu = getattr(options, "use_cuda_bus_id", None)
    if gpu:
        facts |= {name: facts[f"gpu_{name}"] for name in ("rates", "sends", "gets") if f"gpu_{name}" in facts}
        if gpu in facts.get("unreachable_gpus", ()):
            misbehave("no_memory")
    how = facts.get("client" if options.host else "server")
    if isinstance(how, dict):
        how = how.get(NAME)
    if how == "slow_start":
        time.sleep(1)
    if how in ("early_hang", "no_device", "exit"):
        misbehave(how)
    with peer_of(options) as peer:
        with on_gpu(facts.get("nvml"), gpu):
            asked = [options.D, options.s, options.q, options.n]
            other = exchange(peer, {"asked": asked, **facts})
            if other is None or other["asked"] != asked:
                give_up(" Failed to exchange data between server and clients")
            if facts.get("is_dead") or other.get("is_dead"):
                give_up(" Completion with error at client", " Failed status 12: wr_id 0 syndrom 0x81", "scnt=128, ccnt=0")
            misbehave(how)
            peer.settimeout(600)
            if how == "vanish":
                os.kill(os.getpid(), signal.SIGKILL)
            if how == "status_10":
                give_up(" Completion with error at client", " Failed status 10: wr_id 0 syndrom 0x88", "scnt=128, ccnt=0")
            time.sleep((options.D or 1) / facts["speed"])
        # The reader of that line can end the other process, which must have left the GPU by then.
        if exchange(peer, "done") != "done":
            give_up(" Completion with error at client", " Failed status 12: wr_id 0 syndrom 0x81", "scnt=128, ccnt=0")
    if options.host:
        print(f"{LINE}\n                    {NAME} Test\n Dual-port       : OFF\t\tDevice         : {device}\n{LINE}")
        print(f" local address: LID 0x3b QPN 0x0c55 PSN 0x8c2f2c RKey 0x203e00 VAddr 0x007f2f1f9b0000\n{LINE}")
        if IS_LATENCY:
            print_latency(facts["rates"].get(NAME, 1.27))
        else:
            print_bandwidth(rate_between(facts, other, float(options.rate_limit or 0)), how)
        print(LINE)
    return 0


sys.exit(main())
