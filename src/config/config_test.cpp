// SPDX-License-Identifier: Apache-2.0
#include "config/config.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "config/setting.hpp"

namespace autopilot::config {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

Config base() {
  return default_config({}, true);
}

std::string problems_of(std::string_view text) {
  const auto config = parse(text, "config.yaml", base());
  return config ? "" : config.error().what;
}

TEST(DefaultConfig, a_service_has_the_folders_of_the_system) {
  const Config config = default_config({{"HOME", "/root"}}, true);
  EXPECT_EQ(config.state_dir, "/var/lib/autopilot");
  EXPECT_EQ(config.socket, "/run/autopilot/agent.sock");
  EXPECT_EQ(config.listen, "127.0.0.1:3333");
  EXPECT_EQ(default_file({}, true), "/etc/autopilot/config.yaml");
}

TEST(DefaultConfig, a_user_has_folders_of_their_own) {
  const Environment home{{"HOME", "/users/ada"}};
  EXPECT_EQ(default_config(home, false).state_dir, "/users/ada/.local/state/autopilot");
  EXPECT_EQ(default_config(home, false).socket, "/users/ada/.local/state/autopilot/agent.sock");
  EXPECT_EQ(default_file(home, false), "/users/ada/.config/autopilot/config.yaml");
  const Environment xdg{{"HOME", "/users/ada"},
                        {"XDG_STATE_HOME", "/state"},
                        {"XDG_RUNTIME_DIR", "/run/user/1000"},
                        {"XDG_CONFIG_HOME", "relative/counts/not"}};
  EXPECT_EQ(default_config(xdg, false).state_dir, "/state/autopilot");
  EXPECT_EQ(default_config(xdg, false).socket, "/run/user/1000/autopilot/agent.sock");
  EXPECT_EQ(default_file(xdg, false), "/users/ada/.config/autopilot/config.yaml");
}

TEST(DefaultConfig, folders_that_systemd_made_win) {
  const Environment environment{{"STATE_DIRECTORY", "/var/lib/private/autopilot:/var/lib/other"},
                                {"RUNTIME_DIRECTORY", "/run/private/autopilot"},
                                {"CONFIGURATION_DIRECTORY", "/etc/autopilot"}};
  EXPECT_EQ(default_config(environment, true).state_dir, "/var/lib/private/autopilot");
  EXPECT_EQ(default_config(environment, true).socket, "/run/private/autopilot/agent.sock");
  EXPECT_EQ(default_file(environment, false), "/etc/autopilot/config.yaml");
}

TEST(ParseConfig, an_empty_file_changes_nothing) {
  for (const std::string_view text : {"", "# nothing\n", "checks:\nlimits:\n"}) {
    const auto config = parse(text, "config.yaml", base());
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_TRUE(diff(base(), *config).empty()) << text;
  }
}

TEST(ParseConfig, reads_every_setting) {
  const auto config = parse(R"(
listen: "[::1]:0"
socket: /tmp/a.sock
state_dir: /tmp/state
profile: full
node: gpu-07.example
log_level: debug
log_format: json
inject: true
required_checks: [host.clock]
checks:
  gpu.ecc: {enabled: false}
  host.clock: {period: 5s, deadline: 1500ms, window: 0s}
expectation:
  gpu_count: 8
  thresholds: {gpu.throttle.hw_thermal_share: 0.2, gpu.temperature.margin: -3}
  ignored_mounts: [/mnt/a b]
  ignored_interfaces: [docker0]
  expected_interfaces: [mlx5_0/1]
limits: {lanes: 5, stuck_lanes: 0, connections: 10, event_streams: 2}
kernel_log: {helper_socket: /run/autopilot/kmsg.sock}
kubelet: {helper_socket: /run/autopilot/kubelet.sock}
jobs: {helper_socket: /run/autopilot/ras.sock}
journal: {age: 7d, bytes: 1GiB}
history: {enabled: false, path: /data/history.db, age: 365d, bytes: 1GiB}
kubernetes: {write_node: true, kubeconfig: /etc/k, label_prefix: a.example, namespace: gpu-health}
pvc:
  storage_classes: {fast: [ReadWriteOnce], shared.example: [ReadWriteOnce, ReadWriteMany]}
  period: 6h
  patience: 2m
  size: 1GiB
  image: registry.example/pause:1
deep_test:
  every: 4h
  deadline: 1h
  level: 2
  image: registry.example:5000/deep-test@sha256:00
  command: [dcgmi, diag, -r, memtest, -j]
  fatal: [GPU Memory]
  tolerate: [nvidia.com/gpu, dedicated]
  pull_secrets: [registry]
  ask_controller: true
dcgm: {level: 3, command: [/opt/dcgm/bin/dcgmi, diag, -j, -r, "3"], deadline: 40m}
peers: [node-b=10.0.0.2:3333, "node-c=[fd00::3]:3333"]
network: {interfaces: [eth0, ib0], leaf: leaf-7, leaf_label: example.com/switch, all_pairs: true}
ping: {every: 5m, full_mesh: true, echoes: 10}
preflight:
  tests: [gpu.diagnosis]
  choice: learned
  deadline: 2m
  max_age: 12h
  max_age_on_probation: 10m
  could_not_look: stop
  failed: start
  gang_wait: 3m
tls: {mode: files, listen: "127.0.0.1:0", certificate: /keys/tls.crt, key: /keys/tls.key, authorities: /keys/ca.crt}
)",
                            "config.yaml", base());
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->listen, "[::1]:0");
  EXPECT_EQ(config->socket, "/tmp/a.sock");
  EXPECT_EQ(config->journal_path(), "/tmp/state/journal.db");
  EXPECT_EQ(config->profile, "full");
  EXPECT_EQ(config->node, "gpu-07.example");
  EXPECT_TRUE(config->kubernetes.write_node);
  EXPECT_EQ(config->kubernetes.kubeconfig, "/etc/k");
  EXPECT_EQ(config->kubernetes.label_prefix, "a.example");
  EXPECT_EQ(config->kubernetes.name_space, "gpu-health");
  EXPECT_EQ(config->pvc.storage_classes.at("shared.example").size(), 2U);
  EXPECT_EQ(config->pvc.period, std::chrono::hours{6});
  EXPECT_EQ(config->pvc.patience, std::chrono::minutes{2});
  EXPECT_EQ(config->pvc.size, std::uint64_t{1} << 30);
  EXPECT_EQ(config->pvc.image, "registry.example/pause:1");
  EXPECT_TRUE(config->pvc.is_on());
  EXPECT_THAT(config->peers, ElementsAre("node-b=10.0.0.2:3333", "node-c=[fd00::3]:3333"));
  EXPECT_THAT(config->network.interfaces, ElementsAre("eth0", "ib0"));
  EXPECT_EQ(config->network.leaf, "leaf-7");
  EXPECT_EQ(config->network.leaf_label, "example.com/switch");
  EXPECT_TRUE(config->network.all_pairs);
  EXPECT_EQ(config->ping.every, std::chrono::minutes{5});
  EXPECT_TRUE(config->ping.full_mesh);
  EXPECT_EQ(config->ping.echoes, 10);
  EXPECT_EQ(config->log_level, "debug");
  EXPECT_EQ(config->log_format, "json");
  EXPECT_TRUE(config->inject);
  EXPECT_THAT(*config->required_checks, ElementsAre("host.clock"));
  EXPECT_FALSE(config->checks.at("gpu.ecc").enabled);
  EXPECT_EQ(config->checks.at("host.clock").period, seconds{5});
  EXPECT_EQ(config->checks.at("host.clock").deadline, std::chrono::milliseconds{1500});
  EXPECT_EQ(config->checks.at("host.clock").window, seconds{0});
  EXPECT_EQ(config->expectation.gpu_count, 8);
  EXPECT_EQ(config->expectation.thresholds.at("gpu.throttle.hw_thermal_share"), 0.2);
  EXPECT_EQ(config->expectation.thresholds.at("gpu.temperature.margin"), -3);
  EXPECT_THAT(config->expectation.ignored_mounts, ElementsAre("/mnt/a b"));
  EXPECT_THAT(config->expectation.ignored_interfaces, ElementsAre("docker0"));
  EXPECT_THAT(config->expectation.expected_interfaces, ElementsAre("mlx5_0/1"));
  EXPECT_EQ(config->limits.lanes, 5);
  EXPECT_EQ(config->limits.stuck_lanes, 0);
  EXPECT_EQ(config->limits.connections, 10u);
  EXPECT_EQ(config->limits.event_streams, 2u);
  EXPECT_EQ(config->kernel_log.helper_socket, "/run/autopilot/kmsg.sock");
  EXPECT_EQ(config->kubelet.helper_socket, "/run/autopilot/kubelet.sock");
  EXPECT_EQ(config->jobs.helper_socket, "/run/autopilot/ras.sock");
  EXPECT_EQ(config->journal.age, hours{24 * 7});
  EXPECT_EQ(config->journal.bytes, std::uint64_t{1} << 30);
  EXPECT_FALSE(config->history.enabled);
  EXPECT_EQ(config->history_path(), "/data/history.db");
  EXPECT_EQ(config->history.age, hours{24 * 365});
  EXPECT_EQ(config->history.bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(config->deep_test.every, hours{4});
  EXPECT_EQ(config->deep_test.deadline, hours{1});
  EXPECT_EQ(config->deep_test.level, 2);
  EXPECT_EQ(config->deep_test.image, "registry.example:5000/deep-test@sha256:00");
  EXPECT_THAT(config->deep_test.command, ElementsAre("dcgmi", "diag", "-r", "memtest", "-j"));
  EXPECT_THAT(config->deep_test.fatal, ElementsAre("GPU Memory"));
  EXPECT_THAT(config->deep_test.tolerate, ElementsAre("nvidia.com/gpu", "dedicated"));
  EXPECT_THAT(config->deep_test.pull_secrets, ElementsAre("registry"));
  EXPECT_TRUE(config->deep_test.ask_controller);
  EXPECT_EQ(config->dcgm.level, 3);
  EXPECT_THAT(config->dcgm.command, ElementsAre("/opt/dcgm/bin/dcgmi", "diag", "-j", "-r", "3"));
  EXPECT_EQ(config->dcgm.deadline, std::chrono::minutes{40});
  EXPECT_THAT(config->preflight.tests, ElementsAre("gpu.diagnosis"));
  EXPECT_EQ(config->preflight.choice, "learned");
  EXPECT_EQ(config->preflight.deadline, std::chrono::minutes{2});
  EXPECT_EQ(config->preflight.max_age, hours{12});
  EXPECT_EQ(config->preflight.max_age_on_probation, std::chrono::minutes{10});
  EXPECT_EQ(config->preflight.could_not_look, "stop");
  EXPECT_EQ(config->preflight.failed, "start");
  EXPECT_EQ(config->preflight.gang_wait, std::chrono::minutes{3});
  EXPECT_EQ(config->tls.mode, "files");
  EXPECT_EQ(config->tls.listen, "127.0.0.1:0");
  EXPECT_EQ(config->tls.certificate, "/keys/tls.crt");
  EXPECT_EQ(config->tls.key, "/keys/tls.key");
  EXPECT_EQ(config->tls.authorities, "/keys/ca.crt");
}

TEST(ParseConfig, tls_is_off_or_has_all_that_it_needs) {
  EXPECT_FALSE(base().tls.is_on());
  EXPECT_FALSE(parse("tls: {mode: off, certificate: /a}", "config.yaml", base())->tls.is_on());
  EXPECT_TRUE(parse("tls: {mode: files, certificate: /a, key: /b}", "config.yaml", base())->tls.is_on());
  EXPECT_THAT(problems_of("tls: {mode: files, certificate: /a}\n"),
              HasSubstr("`tls.mode`: files needs `tls.certificate` and `tls.key`"));
  EXPECT_THAT(problems_of("tls: {mode: on}\n"),
              HasSubstr("expected one of off, files, cert_manager, controller, found `on`"));
  const auto issued = parse("tls: {mode: cert_manager, issuer: ours}\nkubernetes: {write_node: true}\n",
                            "config.yaml", base());
  ASSERT_TRUE(issued) << issued.error().what;
  EXPECT_EQ(issued->tls.issuer, "ours");
  EXPECT_THAT(problems_of("tls: {mode: controller, authorities: /ca.crt, token: /token}\n"),
              HasSubstr("`tls.mode`: controller needs `tls.controller`, `tls.token` and `tls.authorities`"));
  EXPECT_THAT(problems_of("tls: {controller: 'http://controller:9443'}\n"), HasSubstr("an https URL"));
  const auto by_controller = parse(
      "tls: {mode: controller, authorities: /ca.crt, token: /token, controller: 'https://controller:9443'}",
      "config.yaml", base());
  ASSERT_TRUE(by_controller) << by_controller.error().what;
  EXPECT_EQ(by_controller->tls.controller, "https://controller:9443");
  EXPECT_THAT(problems_of("tls: {listen: ''}\n"), HasSubstr("an address and a port"));
}

TEST(ParseConfig, a_deep_test_is_that_of_dcgm_or_our_own) {
  EXPECT_TRUE(base().deep_test.is_own()) << "the image of the agent has no dcgmi";
  for (const char* dcgm : {"{image: 'registry.example/dcgm:1'}", "{command: [dcgmi]}", "{tests: dcgm}"}) {
    const auto config = parse(std::string("deep_test: ") + dcgm, "config.yaml", base());
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_FALSE(config->deep_test.is_own()) << dcgm;
  }
  const auto own = parse("deep_test: {tests: own, time: 30s, level: 2}", "config.yaml", base());
  ASSERT_TRUE(own) << own.error().what;
  EXPECT_TRUE(own->deep_test.is_own());
  EXPECT_EQ(own->deep_test.time, seconds{30});
  EXPECT_FALSE(
      parse("deep_test: {tests: dcgm, command: [dcgmi]}", "config.yaml", base())->deep_test.is_own());
  EXPECT_THAT(problems_of("deep_test: {tests: ours}\n"),
              HasSubstr("expected auto, dcgm or own, found `ours`"));
  EXPECT_THAT(problems_of("deep_test: {time: 11m}\n"), HasSubstr("100ms to 10m"));
  EXPECT_THAT(problems_of("deep_test: {tests: own, command: [dcgmi, diag]}\n"),
              HasSubstr("`deep_test.tests`: own runs the GPU probe and ignores `deep_test.command`"));
}

TEST(ParseConfig, what_idle_gpus_are_tested_for_is_a_test_and_has_the_time) {
  const auto known = parse("gpu_tests: {checks: [gpu.sdc, gpu.dcgm]}", "config.yaml", base());
  ASSERT_TRUE(known) << known.error().what;
  EXPECT_THAT(problems_of("gpu_tests: {checks: [gpu.sdc, gpu.xid]}\n"),
              HasSubstr("gpu.memory_test, gpu.sdc"));
  EXPECT_THAT(problems_of("gpu_probe: {time: 1m, deadline: 30s}\n"),
              HasSubstr("`gpu_probe.deadline`: expected at least 10 times `gpu_probe.time`, 1m"));
}

TEST(ParseConfig, history_is_in_a_file_or_in_postgresql) {
  const auto config = parse("history: {path: 'postgresql://agent:SECRET@db/fleet'}", "config.yaml", base());
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->history_path(), "postgresql://agent:SECRET@db/fleet");
  EXPECT_TRUE(parse("history: {path: host=db dbname=fleet}", "config.yaml", base()));
  for (const char* path : {"postgresql://agent:p@SECRET@db", "postgress://agent:SECRET@db", "relative.db"}) {
    const std::string problems = problems_of("history: {path: '" + std::string(path) + "'}\n");
    EXPECT_THAT(problems, HasSubstr("`history.path`: expected an absolute path, a connection string"));
    EXPECT_THAT(problems, Not(HasSubstr("SECRET")));
  }
}

TEST(ParseConfig, a_deep_test_is_off_or_not_too_often) {
  EXPECT_EQ(base().deep_test.every, Duration{0});
  EXPECT_EQ(parse("deep_test: {every: 0s}", "config.yaml", base())->deep_test.every, Duration{0});
  EXPECT_THAT(problems_of("deep_test: {every: 1m}\n"), HasSubstr("expected 0s, or 10m to 365d, found `1m`"));
  EXPECT_THAT(problems_of("deep_test: {tolerate: [a b]}\n"), HasSubstr("a list of keys of taints"));
  EXPECT_THAT(problems_of("deep_test: {image: 'a b'}\n"), HasSubstr("the name of an image"));
}

TEST(ParseConfig, names_line_key_and_what_was_expected_for_every_problem_at_once) {
  EXPECT_EQ(
      problems_of("lisen: 1.2.3.4:5\n"
                  "listen: 3333\n"
                  "limits:\n"
                  "  lanes: 99\n"
                  "  conections: 5\n"
                  "inject: maybe\n"
                  "checks:\n"
                  "  gpu.ec: {enabled: false}\n"
                  "  gpu.ecc: {period: 1ms, deadlin: 1s}\n"
                  "log_level: loud\n"),
      "config.yaml:1: configuration: unknown key `lisen`; did you mean `listen`?\n"
      "config.yaml:2: `listen`: expected an address and a port such as 127.0.0.1:3333 or [::1]:3333, or "
      "nothing in quotes, found `3333`\n"
      "config.yaml:4: `limits.lanes`: expected 1 to 64, found `99`\n"
      "config.yaml:5: limits: unknown key `conections`; did you mean `connections`?\n"
      "config.yaml:6: configuration: `inject`: expected true or false, found `maybe`\n"
      "config.yaml:8: `checks`: unknown check `gpu.ec`; did you mean `gpu.ecc`?\n"
      "config.yaml:9: `checks.gpu.ecc.period`: expected 1s to 1d, found `1ms`\n"
      "config.yaml:9: checks.gpu.ecc: unknown key `deadlin`; did you mean `deadline`?\n"
      "config.yaml:10: `log_level`: expected one of debug, info, warning, error, found `loud`");
}

TEST(ParseConfig, refuses_duplicates_wrong_types_and_values_out_of_range) {
  EXPECT_THAT(problems_of("listen: ''\nlisten: ''\n"), HasSubstr("config.yaml:2: duplicate key `listen`"));
  EXPECT_THAT(problems_of("limits: [1]\n"),
              HasSubstr("config.yaml:1: configuration: `limits`: expected a map"));
  EXPECT_THAT(problems_of("limits: {lanes: '2'}\n"), HasSubstr("expected an integer, found `2` in quotes"));
  EXPECT_THAT(problems_of("state_dir: here\n"),
              HasSubstr("`state_dir`: expected an absolute path, found `here`"));
  EXPECT_THAT(problems_of("socket: /" + std::string(107, 'x')), HasSubstr("at most 107 bytes"));
  EXPECT_THAT(problems_of("jobs: {helper_socket: ras.sock}"),
              HasSubstr("`jobs.helper_socket`: expected an absolute path of at most 107 bytes"));
  EXPECT_THAT(problems_of("profile: big\n"), HasSubstr("`profile`: expected one of local, dropin, full"));
  EXPECT_THAT(problems_of("expectation: {gpu_count: -1}\n"), HasSubstr("expected 0 to 1024, found `-1`"));
  EXPECT_THAT(problems_of("expectation: {thresholds: {gpu.throttle.hw_thermal_share: 2}}\n"),
              HasSubstr("`gpu.throttle.hw_thermal_share`: expected 0 to 1"));
  EXPECT_THAT(problems_of("expectation: {thresholds: {gpu.throttle.hw_thermal_shore: 0.2}}\n"),
              HasSubstr("did you mean `gpu.throttle.hw_thermal_share`?"));
  EXPECT_THAT(problems_of("expectation: {thresholds: {gpu.ecc.corrected_total: many}}\n"),
              HasSubstr("expected a number, found `many`"));
  EXPECT_THAT(problems_of("required_checks: [gpu.ecc, nothing]\n"), HasSubstr("found `nothing`"));
  EXPECT_THAT(problems_of("journal: {bytes: 5MB}\n"),
              HasSubstr("expected a size from 1MiB to 1TiB, found `5MB`"));
  EXPECT_THAT(problems_of("journal: {age: 10}\n"), HasSubstr("expected a duration"));
  EXPECT_THAT(problems_of("limits: {connections: 10, event_streams: 11}\n"),
              HasSubstr("`limits.event_streams`: expected at most `limits.connections`, 10"));
}

TEST(ParseConfig, checks_of_the_operator_are_named_custom_and_must_exist) {
  const auto config = parse(
      "scripts:\n  raid: {path: /opt/checks/raid, arguments: [-v, md0], period: 5m}\n"
      "checks:\n  custom.raid: {enabled: false}\nrequired_checks: [custom.raid]\n",
      "c.yaml", {});
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->scripts.at("raid").arguments, (std::vector<std::string>{"-v", "md0"}));
  EXPECT_EQ(config->scripts.at("raid").user, "nobody");
  EXPECT_FALSE(config->scripts.at("raid").network);
  EXPECT_THAT(problems_of("scripts:\n  Raid: {path: raid}\n  fan: {}\n"),
              AllOf(HasSubstr("expected a name of at most 40"),
                    HasSubstr("`scripts.Raid.path`: expected an absolute path"), HasSubstr("path")));
  EXPECT_THAT(problems_of("checks:\n  custom.raid: {enabled: false}\n"), HasSubstr("unknown script `raid`"));
  EXPECT_THAT(problems_of("required_checks: [custom.fan]\n"), HasSubstr("unknown script `fan`"));
  EXPECT_THAT(problems_of("required_checks: [custom.log_rules]\n"), HasSubstr("`log_rules` is empty"));
  EXPECT_THAT(problems_of("scripts:\n  log_rules: {path: /a}\n"), HasSubstr("the name of another check"));
  EXPECT_THAT(problems_of("log_rules: [rules.yaml]\n"),
              HasSubstr("`log_rules`: expected a list of absolute"));
}

TEST(ParseConfig, it_may_listen_at_several_places_and_have_several_names) {
  const auto config =
      parse("listen: :3333\nalso_listen:\n- :8081\n- '[::1]:8080'\nallowed_hosts: [autopilot.svc, node-1]\n",
            "c.yaml", {});
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->listen, ":3333");
  EXPECT_EQ(config->also_listen, (std::vector<std::string>{":8081", "[::1]:8080"}));
  EXPECT_EQ(config->allowed_hosts, (std::vector<std::string>{"autopilot.svc", "node-1"}));
  EXPECT_THAT(problems_of("also_listen: ['']\n"), HasSubstr("`also_listen`: expected a list of addresses"));
  EXPECT_THAT(problems_of("also_listen: [here]\n"), HasSubstr("`also_listen`"));
  EXPECT_THAT(problems_of("allowed_hosts: ['a b']\n"), HasSubstr("`allowed_hosts`: expected a list of host"));
}

TEST(ParseConfig, hostile_text_is_refused) {
  for (const std::string& text :
       {std::string("\0\0", 2), std::string(100'000, '{'), std::string(2'000'000, 'a'), std::string("- a\n"),
        std::string("listen: [")})
    EXPECT_NE(problems_of(text), "");
}

TEST(Environment, overrides_what_the_file_says) {
  const auto config = apply_environment({{"AUTOPILOT_LISTEN", ""},
                                         {"AUTOPILOT_LOG_LEVEL", "warning"},
                                         {"AUTOPILOT_STATE_DIR", "/tmp/x"},
                                         {"HOME", "/root"}},
                                        base());
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->listen, "");
  EXPECT_EQ(config->log_level, "warning");
  EXPECT_EQ(config->state_dir, "/tmp/x");
}

TEST(Environment, refuses_bad_values_and_misspelt_names) {
  const auto config =
      apply_environment({{"AUTOPILOT_LOG_LEVEL", "loud"}, {"AUTOPILOT_STATEDIR", "/tmp/x"}}, base());
  ASSERT_FALSE(config);
  EXPECT_EQ(
      config.error().what,
      "environment variable AUTOPILOT_LOG_LEVEL: `log_level`: expected one of debug, info, warning, error, "
      "found `loud`\n"
      "environment variable AUTOPILOT_STATEDIR: unknown; did you mean `AUTOPILOT_STATE_DIR`?");
}

TEST(Environment, leaves_the_variables_of_a_cluster_alone) {
  const auto config = apply_environment({{"AUTOPILOT_SERVICE_HOST", "10.0.0.1"},
                                         {"AUTOPILOT_SERVICE_PORT", "3333"},
                                         {"AUTOPILOT_PORT", "tcp://10.0.0.1:3333"},
                                         {"AUTOPILOT_PORT_3333_TCP_ADDR", "10.0.0.1"},
                                         {"AUTOPILOT_SIM_MACHINE", "/tmp/tree"}},
                                        base());
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_TRUE(diff(base(), *config).empty());
}

TEST(Diff, tells_what_changes_at_once_and_what_waits) {
  Config next = base();
  next.listen = "";
  next.checks["gpu.ecc"].enabled = false;
  next.expectation.gpu_count = 4;
  next.expectation.thresholds["gpu.throttle.hw_thermal_share"] = 0.5;
  next.required_checks = std::vector<std::string>{};
  EXPECT_EQ(describe(diff(base(), next)),
            "checks.gpu.ecc, expectation.gpu_count, expectation.thresholds.gpu.throttle.hw_thermal_share, "
            "required_checks; at the next start: listen");
  EXPECT_EQ(describe(diff(next, next)), "nothing");
}

TEST(Diff, a_live_merge_keeps_what_needs_a_restart) {
  Config next = base();
  next.listen = "";
  next.limits.lanes = 9;
  next.checks["gpu.ecc"].period = minutes{1};
  next.required_checks = std::vector<std::string>{"gpu.ecc"};
  next.expectation.gpu_count = 3;
  next.preflight.deadline = minutes{2};
  next.gpu_tests.every = std::chrono::hours{1};
  next.validation.on_job_end = "quick";
  const Config merged = merge_live(base(), next);
  EXPECT_EQ(merged.listen, base().listen);
  EXPECT_EQ(merged.limits.lanes, base().limits.lanes);
  EXPECT_EQ(merged.checks.at("gpu.ecc").period, minutes{1});
  EXPECT_EQ(merged.gpu_tests.every, std::chrono::hours{1});
  EXPECT_EQ(merged.validation.on_job_end, "quick");
  for (const Change& change : diff(merged, next))
    EXPECT_FALSE(change.is_live) << change.key;
  for (const Change& change : diff(base(), merged))
    EXPECT_TRUE(change.is_live) << change.key;
}

TEST(Settings, the_example_of_the_page_is_accepted) {
  const std::string page = settings_page();
  const std::size_t begin = page.find("```yaml\n") + 8;
  const auto config = parse(page.substr(begin, page.find("```\n", begin) - begin), "example", base());
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->expectation.gpu_count, 8);
}

TEST(Settings, every_default_is_a_value_that_is_accepted) {
  for (const Setting& setting : settings()) {
    Shown shown;
    setting.show(base(), setting, shown);
    const auto at = shown.find(std::string(setting.name));
    if (at == shown.end()) continue;
    const std::string value = at->second.empty() ? "''" : at->second;
    const std::string line = setting.group().empty() ? std::string(setting.key()) + ": " + value
                                                     : std::string(setting.group()) + ": {" +
                                                           std::string(setting.key()) + ": " + value + "}";
    const auto config = parse(line, "default", base());
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_TRUE(diff(base(), *config).empty()) << line;
  }
}

}  // namespace
}  // namespace autopilot::config
