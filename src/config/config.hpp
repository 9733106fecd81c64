// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/alert_receivers.hpp"
#include "core/clock.hpp"
#include "core/expectation.hpp"
#include "core/result.hpp"

namespace autopilot::config {

struct CheckConfig {
  bool enabled = true;
  std::optional<Duration> period;
  std::optional<Duration> deadline;
  std::optional<Duration> window;

  friend bool operator==(const CheckConfig&, const CheckConfig&) = default;
};

// A custom check, "custom.<name>": a program that reports the health of the machine (docs/configuration.md).
struct ScriptConfig {
  std::string path;
  std::vector<std::string> arguments;
  std::string user = "nobody";
  bool network = false;
  Duration period = std::chrono::minutes{1};
  Duration deadline = std::chrono::seconds{10};

  friend bool operator==(const ScriptConfig&, const ScriptConfig&) = default;
};

struct Limits {
  int lanes = 3;                  // threads that run checks
  int stuck_lanes = 4;            // limit of abandoned threads; beyond it, no new thread starts
  std::size_t connections = 256;  // of all listeners together
  std::size_t event_streams = 64;
};

struct KernelLog {
  std::string helper_socket;  // empty: the agent reads the kernel log itself
};

struct Kubelet {
  std::string helper_socket;  // empty: the agent connects to the kubelet itself
};

struct Journal {
  Duration age = std::chrono::hours{24 * 30};
  std::uint64_t bytes = std::uint64_t{64} << 20;
};

// What post-flight remembers about this node.
struct History {
  bool enabled = true;
  std::string path;  // or a connection string of PostgreSQL; empty: history.db in state_dir
  Duration age = std::chrono::hours{24 * 730};
  std::uint64_t bytes = std::uint64_t{256} << 20;
};

// The cluster of this node.
struct Kubernetes {
  bool write_node = false;                         // label, conditions and annotations of the Node object
  std::string kubeconfig;                          // empty: the service account of the pod
  std::string label_prefix = "autopilot.ibm.com";  // of labels, annotations and taints
  std::string name_space;                          // of the reports; empty: see docs/configuration.md
};

// Tests of storage classes: each test creates a volume (docs/pvc-check.md).
struct Pvc {
  std::map<std::string, std::vector<std::string>, std::less<>> storage_classes;  // with access modes
  Duration period{0};                                                            // 0: only on request
  Duration patience = std::chrono::seconds{90};
  std::uint64_t size = std::uint64_t{100} << 20;
  std::string image = "registry.k8s.io/pause:3.10";

  [[nodiscard]] bool is_on() const { return !storage_classes.empty(); }
};

// Tests of all GPUs of an idle node of a cluster (docs/deep-test.md).
struct DeepTest {
  Duration every{};  // 0: not scheduled
  Duration deadline = std::chrono::minutes{45};
  std::string tests = "auto";                // dcgm, or own: the tests of the GPU probe
  Duration time = std::chrono::seconds{10};  // of each test of the probe
  int level = 3;                             // of dcgmi, and of the label with the result
  std::string image;                         // empty: the agent's image
  std::vector<std::string> command;          // for dcgm; empty: dcgmi diag -j -r <level>
  std::vector<std::string> fatal = {"PCIe", "NVLink", "ECC", "GPU Memory"};
  std::vector<std::string> tolerate;      // taint keys of the nodes
  std::vector<std::string> pull_secrets;  // names
  bool ask_controller = false;            // before a node is reserved

  // The agent's image has no dcgmi: without another image or command, the tests of the GPU probe run.
  [[nodiscard]] bool is_own() const {
    return tests == "own" || (tests == "auto" && image.empty() && command.empty());
  }
};

// The operation gpu.dcgm: DCGM's diagnostic on this machine (docs/dcgm.md). DeepTest has the fatal tests.
struct Dcgm {
  int level = 2;                     // of dcgmi
  std::vector<std::string> command;  // empty: dcgmi diag -j -r <level>
  Duration deadline = std::chrono::minutes{20};
};

// The operations of the GPU probe on this machine (docs/gpu-probe.md).
struct GpuProbe {
  Duration time = std::chrono::milliseconds{400};  // of each test of the probe
  int memory_percent = 50;                         // of each GPU, for gpu.memory_test
  Duration deadline = std::chrono::minutes{3};
  std::string kernels = "best";  // best, or the highest level: "sm_90"
};

// The operation gpu.nccl_allreduce on this machine (docs/gpu-tests.md).
struct Nccl {
  std::vector<std::string> command;  // empty: all_reduce_perf
  Duration deadline = std::chrono::minutes{5};
};

// Scheduled tests of idle GPUs (docs/gpu-tests.md).
struct GpuTests {
  Duration every{0};  // 0: not scheduled
  std::vector<std::string> checks = {"gpu.pcie_bandwidth", "gpu.memory_bandwidth", "gpu.compute", "gpu.sdc"};
};

// Addresses of this node for tests of the network (docs/network-tests.md).
struct Network {
  std::vector<std::string> interfaces;  // interfaces that others connect to; empty: see docs
  std::string leaf;                     // switch of the node; empty: unknown
  std::string leaf_label =
      "network.topology.nvidia.com/leaf";  // label of the Node object with the leaf, in a cluster
  int most_percent = 100;                  // limit of a test, of the line rate
  bool all_pairs = false;                  // test all pairs; else as many as identify slow nodes
};

// Schedule of the ping test to other nodes (docs/network-tests.md).
struct Ping {
  Duration every = std::chrono::minutes{1};  // 0: only on request
  bool full_mesh = false;                    // all nodes in each round, regardless of their number
  int echoes = 5;                            // to each address
};

// Tests of a pod's GPUs before it starts (docs/preflight-gate.md).
struct Preflight {
  std::vector<std::string> tests = {"gpu.pcie_bandwidth"};  // for a pod that names none
  Duration deadline = std::chrono::seconds{60};             // for a pod that names none
  Duration max_age = std::chrono::hours{24};                // age of a valid pass record
  Duration max_age_on_probation = std::chrono::minutes{30};
  std::string could_not_look = "start";
  std::string failed = "stop";                     // start: only reported
  std::string choice = "all";                      // learned: of `tests`, as the history of the node suggests
  Duration gang_wait = std::chrono::seconds{120};  // for the other pods of a job
};

// The paths of IBM Autopilot.
struct Compat {
  bool open_actions = false;  // any client that reaches the port can start tests
};

// The API over TLS, at an address of its own.
struct Tls {
  std::string mode = "off";
  std::string listen = ":3334";
  std::string certificate;  // files, all PEM
  std::string key;
  std::string authorities;
  std::string issuer = "autopilot";  // Issuer of cert-manager
  std::string controller;            // https URL
  std::string token;                 // file, for the controller

  [[nodiscard]] bool is_on() const { return mode != "off"; }
};

// What watches running jobs.
struct Jobs {
  bool enabled = true;
  std::string mode = "observe";
  std::string brain = "auto";
  std::string coordinator;  // https URL of its agent; empty: none
  std::string controller;   // https URL; empty: port 9444 of the host of `tls.controller`
  Duration search_every = std::chrono::seconds{10};
  std::string heartbeat_folder = "auto";       // auto: beside `socket`; empty: none
  std::string step_pattern;                    // RE2; empty: the built-in patterns
  std::string scontrol = "/usr/bin/scontrol";  // of Slurm, for actions
  int metrics_port = 0;                        // of inference servers without the annotation; 0: not read
  std::string state_dir;                       // of evidence; empty: "jobs" in Config::state_dir
  std::string helper_socket;                   // of `autopilot helper ras`; empty: the agent starts its own
};

// Validation of this node when a job ends (docs/validation.md).
struct Validation {
  std::string on_job_end =
      "auto";            // off, passive, quick; auto: quick if gpu_tests.every is set, else passive
  int max_minutes = 10;  // of all diagnostics of one validation
  Duration retry = std::chrono::minutes{5};  // after diagnostics that yielded; 0: never
};

// All settings. Defaults are those of a service or of a user, see default_config.
struct Config {
  std::string listen = "127.0.0.1:3333";  // empty: no TCP
  std::vector<std::string> also_listen;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> periodic_checks = {"pciebw", "remapped", "dcgm", "ping", "gpupower"};
  std::string socket;
  std::string state_dir;
  std::string profile = "local";
  std::string node;  // empty: the machine's host name
  std::string log_level = "info";
  std::string log_format = "text";
  bool inject = false;  // allow `autopilot inject` on a real machine
  std::map<std::string, CheckConfig, std::less<>> checks;
  std::map<std::string, ScriptConfig, std::less<>> scripts;  // by name
  std::vector<std::string> log_rules;                        // files with custom log rules
  Expectation expectation;
  std::optional<std::vector<std::string>> required_checks;  // replaces the profile's list
  Limits limits;
  KernelLog kernel_log;
  Kubelet kubelet;
  Journal journal;
  History history;
  Kubernetes kubernetes;
  std::vector<AlertReceiver> alerts;  // about jobs, if this agent runs the in-flight engine
  Pvc pvc;
  DeepTest deep_test;
  Dcgm dcgm;
  GpuProbe gpu_probe;
  Nccl nccl;
  GpuTests gpu_tests;
  std::vector<std::string> peers;  // other agents if no cluster lists them: "node-b=10.0.0.2:3333"
  Network network;
  Ping ping;
  Preflight preflight;
  Compat compat;
  Tls tls;
  Jobs jobs;
  Validation validation;

  [[nodiscard]] std::string journal_path() const { return state_dir + "/journal.db"; }
  [[nodiscard]] std::string history_path() const {
    return history.path.empty() ? state_dir + "/history.db" : history.path;
  }
  [[nodiscard]] std::string jobs_dir() const {
    return jobs.state_dir.empty() ? state_dir + "/jobs" : jobs.state_dir;
  }
  // Actions on jobs that began, so that none is repeated after a restart.
  [[nodiscard]] std::string job_actions_path() const { return state_dir + "/job-actions.json"; }
  // Empty: no heartbeats are received.
  [[nodiscard]] std::string heartbeat_path() const {
    if (jobs.heartbeat_folder != "auto") return jobs.heartbeat_folder;
    return socket.substr(0, socket.rfind('/')) + "/heartbeat";
  }
};

using Environment = std::map<std::string, std::string>;

// Paths of a service (root: /var/lib/autopilot, /run/autopilot) or of a user (XDG_STATE_HOME,
// XDG_RUNTIME_DIR, with their defaults in HOME).
[[nodiscard]] Config default_config(const Environment& environment, bool is_root);
// Default path of the configuration file.
[[nodiscard]] std::string default_file(const Environment& environment, bool is_root);

// Applies the YAML text to `base`. malformed lists every problem: "<name>:<line>: <key>: <what was
// expected>". The settings are in the table of settings.cpp.
[[nodiscard]] Result<Config> parse(std::string_view text, std::string_view name, Config base);
// Applies AUTOPILOT_LISTEN, AUTOPILOT_SOCKET, AUTOPILOT_STATE_DIR, AUTOPILOT_PROFILE, AUTOPILOT_NODE,
// AUTOPILOT_LOG_LEVEL, AUTOPILOT_LOG_FORMAT, AUTOPILOT_KERNEL_LOG_HELPER_SOCKET,
// AUTOPILOT_KUBELET_HELPER_SOCKET, AUTOPILOT_JOBS_HELPER_SOCKET, AUTOPILOT_KUBERNETES_WRITE_NODE,
// AUTOPILOT_KUBERNETES_KUBECONFIG, AUTOPILOT_KUBERNETES_LABEL_PREFIX, AUTOPILOT_KUBERNETES_NAMESPACE,
// AUTOPILOT_DEEP_TEST_EVERY, AUTOPILOT_DEEP_TEST_IMAGE to `base`. A variable that looks like a misspelled one
// is malformed; other AUTOPILOT_ variables are ignored, because Kubernetes sets some for a Service of this
// name.
[[nodiscard]] Result<Config> apply_environment(const Environment& environment, Config base);

struct Change {
  std::string key;
  bool is_live = false;  // false: takes effect at the next start
};
[[nodiscard]] std::vector<Change> diff(const Config& old, const Config& next);
// "checks.gpu.ecc, expectation.gpu_count; at the next start: listen"; "nothing" without changes.
[[nodiscard]] std::string describe(const std::vector<Change>& changes);
// `next`, but settings that cannot change while running keep the value of `old`.
[[nodiscard]] Config merge_live(const Config& old, const Config& next);

// docs/configuration.md.
[[nodiscard]] std::string settings_page();

// One setting for a person. Texts have Markdown's `code`, as in the page.
struct SettingText {
  std::string name;      // "limits.lanes"
  std::string form;      // format of the value
  std::string standard;  // the default: "`:9443`", or "none"
  std::string variable;  // "AUTOPILOT_LISTEN"; empty: no variable sets it
  bool is_live = false;  // takes effect without a restart
  std::string meaning;
};
// The settings of the agent, in the order of the page.
[[nodiscard]] std::vector<SettingText> setting_texts();

}  // namespace autopilot::config
