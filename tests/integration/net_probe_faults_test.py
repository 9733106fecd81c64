# SPDX-License-Identifier: Apache-2.0
"""autopilot-net-probe and peers that fail, send wrong data and disappear: the right reason, in time, and no process left."""

import contextlib
import errno
import ipaddress
import json
import os
import signal
import socket
import subprocess
import time

import harness
import net_probe_case
from net_probe_case import (HERE, HERE_6, NetProbeCase, PROBE, QUICK, STRANGER, Serving,
                            THERE, THERE_6, is_alive, moved_over, ports_at, run, there)

setUpModule = net_probe_case.make_networks


class Reasons(NetProbeCase):
    def test_nobody_listens(self):
        self.assertEqual(self.not_measured(), "refused")

    def test_one_of_several_servers_is_missing(self):
        self.serve("--count", "2")
        report = self.measure("--processes", "3", code=3)
        self.assertEqual((report["reason"], report["directions"]), ("refused", []))
        self.assertEqual([process.get("reason") for process in report["processes"]], [None, None, "refused"])
        self.assertGreater(report["processes"][0]["directions"][0]["received_bits_per_second"], 0)

    def test_there_is_no_way_or_nobody_at_its_end(self):
        self.assertEqual(self.not_measured(to="10.99.0.1"), "no_route")
        self.assertEqual(self.not_measured(to="2001:db8:99::1"), "no_route")
        self.assertEqual(self.not_measured(to="10.77.0.9"), "unreachable")
        run("ip", "route", "add", "prohibit", "10.98.0.0/24")
        self.addCleanup(run, "ip", "route", "delete", "10.98.0.0/24")
        self.assertEqual(self.not_measured(to="10.98.0.1"), "denied")

    def test_nothing_comes_back(self):
        self.forbid(input="tcp dport 5201 drop")
        self.assertEqual(self.not_measured(), "timed_out")

    def test_a_connection_that_is_half_open_is_given_up(self):
        self.serve("--seconds", "120")
        # The handshake passes, and nothing that carries data.
        self.forbid(input="ip length > 80 drop")
        began = time.monotonic()
        self.assertEqual(self.not_measured(), "timed_out")
        self.assertLess(time.monotonic() - began, 40)

    def test_a_peer_that_takes_the_connection_and_says_nothing(self):
        self.stand_in("time.sleep(60)")
        self.assertEqual(self.not_measured(), "no_end")

    def test_a_peer_that_goes_away_in_the_middle_of_a_test(self):
        server = self.iperf3_server()
        child = self.start("--to", THERE, "--seconds", "30")
        self.wait_for_data()
        server.stop(signal.SIGKILL)
        out, _ = child.communicate(timeout=30)
        self.assertEqual((child.returncode, json.loads(out)["reason"]), (3, "peer_vanished"))

    def test_a_peer_whose_cable_is_pulled_in_the_middle_of_a_test(self):
        for way in ("--both", "--reverse"):
            with self.subTest(way):
                serving = self.serve("--seconds", "120")
                child = self.start("--to", THERE, "--seconds", "5", way)
                self.wait_for_data()
                self.forbid(input="tcp dport 5201 drop", output="tcp sport 5201 drop")
                out, _ = child.communicate(timeout=60)
                self.assertEqual((child.returncode, json.loads(out)["reason"]), (3, "timed_out"), out)
                self.allow()
                serving.stop()

    def wait_for_data(self):
        """Waits until some further megabytes have passed over the link."""
        before = moved_over("va")
        harness.wait_until(lambda: moved_over("va") - before > 10_000_000, "data flows")

    def test_a_peer_that_is_in_another_test(self):
        self.iperf3_server()
        other = subprocess.Popen(["iperf3", "-c", THERE, "-t", "60", "-b", "1M"], stdout=subprocess.DEVNULL)
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        harness.wait_until(lambda: subprocess.run(["ss", "-Htn", "state", "established"], capture_output=True, text=True,
                                                  check=True).stdout.count(":5201") >= 2, "the other test runs")
        self.assertEqual(self.not_measured(), "busy")

    def test_a_peer_that_speaks_something_else(self):
        for said in ("b'HTTP/1.1 400 Bad Request\\r\\n\\r\\n'", "bytes(100)", "b'\\xff' * 0 + bytes([77])"):
            with self.subTest(said):
                port = 5400 + len(said)
                self.stand_in(f"client.sendall({said})", port=port)
                self.assertEqual(self.not_measured("--port", str(port)), "wrong_version")

    def test_a_peer_that_hangs_up_at_once(self):
        self.stand_in("client.recv(37)\nclient.close()")
        self.assertEqual(self.not_measured(), "peer_vanished")

    def test_a_peer_whose_results_are_none(self):
        # Results are exchanged before there was a test.
        self.stand_in("client.sendall(bytes([13]))\nclient.recv(4096)\nclient.sendall((3).to_bytes(4, 'big') + b'abc')\ntime.sleep(60)")
        self.assertIn(self.not_measured(), ("garbage", "peer_vanished", "wrong_version"))

    def test_a_process_that_measures_is_killed(self):
        self.serve("--count", "2", "--seconds", "120")
        child = self.start("--to", THERE, "--processes", "2", "--seconds", "3")
        self.wait_for_data()
        os.kill(harness.children_of(child.pid)[0], signal.SIGKILL)
        out, _ = child.communicate(timeout=60)
        report = json.loads(out)
        self.assertEqual((child.returncode, report["reason"], report["directions"]), (3, "killed", []))
        self.assertIn("directions", report["processes"][1])


class Serve(NetProbeCase):
    def test_a_port_that_is_taken_is_told_and_the_others_listen(self):
        taken = self.iperf3_server("-B", THERE, port=5202)
        serving = self.serve("--count", "3")
        self.assertEqual(serving.told["ports"], [5201, 5203])
        [failed] = serving.told["failed"]
        self.assertEqual((failed["port"], failed["reason"]), (5202, "port_taken"))
        self.assertEqual(ports_at(*there()), {f"{THERE}:{port}" for port in (5201, 5202, 5203)})
        taken.stop(signal.SIGKILL)

    def test_nobody_listens_where_every_port_is_taken(self):
        taken = self.iperf3_server("-B", THERE)
        serving = self.serve()
        self.assertEqual((serving.told["ports"], serving.told["failed"][0]["reason"]), ([], "port_taken"))
        self.assertEqual(serving.wait(), 3)
        taken.stop(signal.SIGKILL)

    def test_of_a_range_those_that_are_free_are_taken(self):
        taken = self.iperf3_server("-B", THERE, port=5202)
        serving = self.serve("--count", "2", "--port", "5201-5204")
        self.assertEqual(serving.told["failed"], [])
        self.assertEqual(sorted(serving.told["ports"])[0], 5201)
        self.assertNotIn(5202, serving.told["ports"])
        taken.stop(signal.SIGKILL)
        self.assert_measured(self.measure("--processes", "2", "--port", ",".join(map(str, serving.told["ports"]))), "to_peer")

    def test_of_any_ports_those_that_the_kernel_has_are_taken(self):
        serving = self.serve("--count", "4", "--port", "0")
        self.assertEqual(len(set(serving.told["ports"])), 4, serving.told)
        self.assertEqual(ports_at(*there()), {f"{THERE}:{port}" for port in serving.told["ports"]})

    def test_an_address_of_another_machine(self):
        serving = self.serve("--bind", "10.77.0.99")
        self.assertEqual((serving.told["ports"], serving.told["failed"][0]["reason"]), ([], "no_address"))
        self.assertEqual(serving.wait(), 3)

    def test_a_port_that_needs_a_right(self):
        serving = Serving("--bind", THERE, "--port", "80", prefix=there("setpriv", "--bounding-set=-net_bind_service", "--"))
        self.assertEqual((serving.told["ports"], serving.told["failed"][0]["reason"]), ([], "denied"))
        self.assertEqual(serving.wait(), 3)

    def test_after_its_time_nobody_listens(self):
        serving = self.serve("--count", "2", "--seconds", "1")
        servers = serving.servers()
        self.assertEqual(serving.wait(), 0)
        self.assertFalse([pid for pid in servers if is_alive(pid)])
        self.assertEqual(ports_at(*there()), set())

    def test_its_time_ends_a_test_as_well(self):
        self.serve("--seconds", "3")
        self.assertEqual(self.not_measured("--seconds", "30"), "peer_vanished")

    def test_one_test_and_no_other(self):
        serving = self.serve("--once", "--seconds", "60")
        self.assert_measured(self.measure(), "to_peer")
        self.assertEqual(serving.wait(), 0)

    def test_a_signal_ends_everything_at_once(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            with self.subTest(number):
                serving = self.serve("--count", "3", "--seconds", "60")
                servers = serving.servers()
                self.assertEqual(len(servers), 3)
                child = self.start("--to", THERE, "--seconds", "30", "--processes", "2")
                clients = harness.wait_until(lambda: (found := harness.children_of(child.pid)) and len(found) == 2 and found, "two clients run")
                child.send_signal(number)
                out, _ = child.communicate(timeout=20)
                harness.wait_until(lambda: not [pid for pid in clients if is_alive(pid)], "no client is left")
                expected = -number if number == signal.SIGKILL else 128 + number
                self.assertEqual(child.returncode, expected)
                if number != signal.SIGKILL:
                    report = json.loads(out)
                    self.assertEqual((report["stopped"], report["reason"], report["directions"]), (True, "killed", []))
                self.assertEqual(serving.stop(number), expected)
                harness.wait_until(lambda: not [pid for pid in servers if is_alive(pid)], "no server is left")
                harness.wait_until(lambda: not ports_at(*there()), "nobody listens")

    def test_a_client_that_is_killed_does_not_keep_the_server(self):
        self.serve("--seconds", "120")
        child = self.start("--to", THERE, "--seconds", "30")
        [client] = harness.wait_until(lambda: harness.children_of(child.pid), "a client runs")
        harness.wait_until(lambda: subprocess.run(["ss", "-Htn", "state", "established"], capture_output=True, text=True,
                                                  check=True).stdout.count(":5201") >= 2, "the test runs")
        os.kill(client, signal.SIGKILL)
        child.communicate(timeout=20)
        harness.wait_until(lambda: self.measure_or_none(), "the server answers again")

    def measure_or_none(self):
        done = subprocess.run([PROBE, "measure", "--to", THERE, *QUICK], capture_output=True, text=True, check=False, timeout=60)
        return done.returncode == 0

    def test_a_client_that_speaks_something_else_does_not_end_the_server(self):
        serving = self.serve("--seconds", "120")
        servers = serving.servers()
        for said in (b"GET / HTTP/1.1\r\n\r\n" + bytes(100), bytes(37) + b"\xff\xff\xff\xffgarbage", bytes(37) + b"\0\0\0\4null"):
            harness.wait_until(lambda: ports_at(*there()), "the server listens again")
            with socket.create_connection((THERE, 5201)) as client:
                client.settimeout(20)
                try:
                    client.sendall(said)
                    client.shutdown(socket.SHUT_WR)
                    while client.recv(4096):
                        pass
                except OSError as problem:  # the server may hang up at any of these
                    self.assertIn(problem.errno, (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN))
        harness.wait_until(lambda: self.measure_or_none(), "the server answers")
        self.assertEqual(len(servers), 1)

    def test_a_server_that_is_killed_is_started_again(self):
        serving = self.serve("--seconds", "120")
        [first] = serving.servers()
        os.kill(first, signal.SIGKILL)
        harness.wait_until(lambda: serving.servers() not in ([], [first]), "another server")
        self.assert_measured(self.measure(), "to_peer")
        serving.process.wait_says("ended with signal 9; a new one starts")

    def test_only_those_who_are_allowed_are_heard(self):
        for bind, allowed, stranger in ((THERE, HERE, STRANGER), (THERE_6, HERE_6, None)):
            with self.subTest(bind):
                serving = self.serve("--bind", bind, "--allow", f"{HERE},{HERE_6}" if stranger else allowed, "--seconds", "120")
                if stranger is None:
                    stranger = "2001:db8:77::3"
                    run("ip", "address", "add", f"{stranger}/64", "dev", "va", "nodad")
                    self.addCleanup(run, "ip", "address", "delete", f"{stranger}/64", "dev", "va")
                self.assertEqual(self.not_measured("--bind", stranger, to=bind), "timed_out")
                for way in ([], ["--reverse"]):
                    self.assert_measured(self.measure("--bind", allowed, *way, to=bind), "from_peer" if way else "to_peer")
                serving.stop()

    def test_nor_is_anybody_else_by_a_server_without_rights(self):
        """Some kernels permit such a process no filter."""
        serving = Serving("--bind", THERE, "--allow", HERE, "--seconds", "120",
                          prefix=[*there(), "setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--no-new-privs"])
        self.addCleanup(serving.stop)
        self.assertEqual(serving.told["failed"], [])
        self.assertIn(self.not_measured("--bind", STRANGER), ("timed_out", "peer_vanished", "refused"))
        self.assert_measured(self.measure("--bind", HERE), "to_peer")
        before = moved_over("va")
        under_way = self.start("--to", THERE, "--bind", HERE, "--seconds", "2")
        harness.wait_until(lambda: moved_over("va") > before + 1_000_000, "a test is under way")
        for _ in range(5):
            with socket.socket() as stranger:
                stranger.settimeout(0.2)
                stranger.bind((STRANGER, 0))
                with contextlib.suppress(OSError):
                    stranger.connect((THERE, 5201))
                    stranger.recv(1)
        out, err = under_way.communicate(timeout=60)
        self.assertEqual(under_way.returncode, 0, err)
        self.assert_measured(json.loads(out), "to_peer")

    def test_a_list_of_many_may_be_long(self):
        network = ipaddress.ip_network("2001:db8:99::/120")
        others = [str(network[number]) for number in range(1, 64)]
        self.serve("--bind", THERE_6, "--allow", ",".join([*others, HERE_6]))
        self.assert_measured(self.measure("--bind", HERE_6, to=THERE_6), "to_peer")


if __name__ == "__main__":
    net_probe_case.main()
