// SPDX-License-Identifier: Apache-2.0
#include "config/controller_config.hpp"

#include <array>
#include <chrono>

#include "config/alert_settings.hpp"
#include "config/forms.hpp"
#include "config/setting.hpp"
#include "core/yaml.hpp"

namespace autopilot::config {

namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

bool is_certificates_mode(std::string_view word) {
  return word == "own" || word == "files";
}

bool is_jobs_mode(std::string_view word) {
  return word == "observe" || word == "recommend" || word == "act";
}

// "nvidia.com/gpu", "nvidia.com/mig-*"
bool is_resource(std::string_view word) {
  const std::size_t slash = word.find('/');
  if (slash == std::string_view::npos || !is_dns_name(word.substr(0, slash))) return false;
  std::string_view name = word.substr(slash + 1);
  if (name.ends_with('*')) name.remove_suffix(1);
  return is_name(name) && name.size() <= 63;
}

#define AUTOPILOT_SHOW(expression)                                          \
  [](const ControllerConfig& c, const ControllerSetting& s, Shown& shown) { \
    shown[std::string(s.name)] = (expression);                              \
  }
#define AUTOPILOT_READ(statement) \
  [](YamlMap& m, const ControllerSetting& s, ControllerConfig& c) { statement; }

constexpr std::array kControllerSettings{
    ControllerSetting{
        "listen", "an address and a port such as :9443 or 127.0.0.1:9443", kAtStart, kNoVariable,
        "Address of the TLS listener, for the webhooks and for certificate requests of agents.",
        AUTOPILOT_READ(read_word(m, s, &is_further_address, c.listen)), AUTOPILOT_SHOW(c.listen)},
    ControllerSetting{"metrics", "an address and a port such as :8082 or 127.0.0.1:8082", kAtStart,
                      kNoVariable, "Address of the listener without TLS: /metrics, /healthz, /readyz.",
                      AUTOPILOT_READ(read_word(m, s, &is_further_address, c.metrics)),
                      AUTOPILOT_SHOW(c.metrics)},
    ControllerSetting{
        "socket", "an absolute path of at most 107 bytes, or nothing in quotes", kAtStart, kNoVariable,
        "A Unix socket that serves the same as `metrics`, for probes. Its connections are separate, so that "
        "network clients cannot use them up. Empty: none.",
        AUTOPILOT_READ(read_word(m, s, &is_socket_path_or_empty, c.socket)), AUTOPILOT_SHOW(c.socket)},
    ControllerSetting{"log_level", "one of debug, info, warning, error", kAtStart, kNoVariable,
                      "Lowest level that is logged.",
                      AUTOPILOT_READ(read_word(m, s, &is_log_level, c.log_level)),
                      AUTOPILOT_SHOW(c.log_level)},
    ControllerSetting{"log_format", "text or json", kAtStart, kNoVariable, "Format of the log.",
                      AUTOPILOT_READ(read_word(m, s, &is_log_format, c.log_format)),
                      AUTOPILOT_SHOW(c.log_format)},
    ControllerSetting{
        "drain", "0s to 1m", kAtStart, kNoVariable,
        "Time after SIGTERM in which the controller still answers, but is not ready, so that its Service can "
        "remove it.",
        AUTOPILOT_READ(read_duration(m, s.key(), std::string(s.name), seconds{0}, minutes{1}, c.drain)),
        AUTOPILOT_SHOW(format_duration(c.drain))},
    ControllerSetting{"kubernetes.kubeconfig", "an absolute path, or nothing in quotes", kAtStart,
                      kNoVariable, "Access to the API server. Empty: the service account of the pod.",
                      AUTOPILOT_READ(read_word(m, s, &is_file_or_empty, c.kubernetes.kubeconfig)),
                      AUTOPILOT_SHOW(c.kubernetes.kubeconfig)},
    ControllerSetting{"kubernetes.label_prefix", "a DNS name such as autopilot.ibm.com", kAtStart,
                      kNoVariable,
                      "Prefix of labels, annotations and taints; the same as in the agents' configuration.",
                      AUTOPILOT_READ(read_word(m, s, &is_dns_name, c.kubernetes.label_prefix)),
                      AUTOPILOT_SHOW(c.kubernetes.label_prefix)},
    ControllerSetting{
        "kubernetes.namespace", "the name of a namespace, or nothing in quotes", kAtStart, kNoVariable,
        "Namespace of Autopilot. Empty: the namespace of the pod; with a kubeconfig `autopilot`.",
        AUTOPILOT_READ(read_word(m, s, &is_name_space, c.kubernetes.name_space)),
        AUTOPILOT_SHOW(c.kubernetes.name_space)},
    ControllerSetting{"certificates.mode", "own or files", kAtStart, kNoVariable,
                      "The signer of certificates. own: the controller creates an authority in the Secret "
                      "`autopilot-authority`, signs its own certificate and those of agents, and renews all "
                      "of them. files: another program signs, such as cert-manager, and the controller uses "
                      "the certificate of these files.",
                      AUTOPILOT_READ(read_word(m, s, &is_certificates_mode, c.certificates.mode)),
                      AUTOPILOT_SHOW(c.certificates.mode)},
    ControllerSetting{"certificates.certificate", "an absolute path, or nothing in quotes", kAtStart,
                      kNoVariable,
                      "With `files`: the certificate, with intermediate certificates. PEM, like the next "
                      "two. A new version of the files is used within 20 seconds; an invalid one is refused, "
                      "and the old one stays in use.",
                      AUTOPILOT_READ(read_word(m, s, &is_file_or_empty, c.certificates.certificate)),
                      AUTOPILOT_SHOW(c.certificates.certificate)},
    ControllerSetting{"certificates.key", "an absolute path, or nothing in quotes", kAtStart, kNoVariable,
                      "The key of the certificate, without a passphrase.",
                      AUTOPILOT_READ(read_word(m, s, &is_file_or_empty, c.certificates.key)),
                      AUTOPILOT_SHOW(c.certificates.key)},
    ControllerSetting{"certificates.authorities", "an absolute path, or nothing in quotes", kAtStart,
                      kNoVariable, "Authorities of the agents' certificates, which pods trust.",
                      AUTOPILOT_READ(read_word(m, s, &is_file_or_empty, c.certificates.authorities)),
                      AUTOPILOT_SHOW(c.certificates.authorities)},
    ControllerSetting{"webhook.enabled", "true or false", kLive, kNoVariable,
                      "Adds a pre-flight test to pods that request one.",
                      AUTOPILOT_READ(read_flag(m, s, c.webhook.enabled)),
                      AUTOPILOT_SHOW(c.webhook.enabled ? "true" : "false")},
    ControllerSetting{"webhook.client_authorities", "an absolute path, or nothing in quotes", kAtStart,
                      kNoVariable,
                      "PEM: the authorities of the client certificate that the API server sends to webhooks "
                      "(kubeConfigFile in its AdmissionConfiguration). The webhooks then refuse clients "
                      "without such a certificate. Empty: they accept every client.",
                      AUTOPILOT_READ(read_word(m, s, &is_file_or_empty, c.webhook.client_authorities)),
                      AUTOPILOT_SHOW(c.webhook.client_authorities)},
    ControllerSetting{
        "webhook.image", "the name of an image, or nothing in quotes", kLive, kNoVariable,
        "Image of the test container: the agents' image with its digest, which is on the node already.",
        AUTOPILOT_READ(read_word(m, s, &is_image_or_empty, c.webhook.image)),
        AUTOPILOT_SHOW(c.webhook.image)},
    ControllerSetting{"webhook.agent_url", "an URL that begins with https://, or nothing in quotes", kLive,
                      kNoVariable, "URL of the agent on the container's node.",
                      AUTOPILOT_READ(read_word(m, s, &is_https_url_or_empty, c.webhook.agent_url)),
                      AUTOPILOT_SHOW(c.webhook.agent_url)},
    ControllerSetting{"webhook.resources", "a list of names such as nvidia.com/gpu or nvidia.com/mig-*",
                      kLive, kNoVariable,
                      "Resources that count as accelerators. Do not list shared accelerators: a test would "
                      "disturb their other users.",
                      AUTOPILOT_READ(read_words(m, s, &is_resource, c.webhook.resources)),
                      AUTOPILOT_SHOW(join(c.webhook.resources))},
    ControllerSetting{"webhook.resource_claims", "true or false", kLive, kNoVariable,
                      "Counts resource claims as accelerators.",
                      AUTOPILOT_READ(read_flag(m, s, c.webhook.resource_claims)),
                      AUTOPILOT_SHOW(c.webhook.resource_claims ? "true" : "false")},
    ControllerSetting{"webhook.tests", "a list of tests that pods can ask for (docs/preflight.md)", kLive,
                      kNoVariable,
                      "Tests for a pod that names none. Empty: the default of the agent on its node.",
                      AUTOPILOT_READ(read_words(m, s, &is_pod_test, c.webhook.tests)),
                      AUTOPILOT_SHOW(join(c.webhook.tests))},
    ControllerSetting{"webhook.deadline", "1s to 1h", kLive, kNoVariable,
                      "Deadline of the tests before a pod.",
                      AUTOPILOT_READ(read_duration(m, s.key(), std::string(s.name), seconds{1}, minutes{60},
                                                   c.webhook.deadline)),
                      AUTOPILOT_SHOW(format_duration(c.webhook.deadline))},
    ControllerSetting{"jobs.enabled", "true or false", kAtStart, kNoVariable,
                      "Evaluates the running jobs of all nodes: agents send what they see of jobs.",
                      AUTOPILOT_READ(read_flag(m, s, c.jobs.enabled)),
                      AUTOPILOT_SHOW(c.jobs.enabled ? "true" : "false")},
    ControllerSetting{
        "jobs.listen", "an address and a port such as :9444 or 127.0.0.1:9444", kAtStart, kNoVariable,
        "Address of the TLS listener for agents, which need a certificate of their node.",
        AUTOPILOT_READ(read_word(m, s, &is_further_address, c.jobs.listen)), AUTOPILOT_SHOW(c.jobs.listen)},
    ControllerSetting{"jobs.mode", "observe, recommend or act", kLive, kNoVariable,
                      "What follows from findings about jobs. observe: reports and alerts. recommend: alerts "
                      "also recommend an action. act: the controller acts, within its guard rails.",
                      AUTOPILOT_READ(read_word(m, s, &is_jobs_mode, c.jobs.mode)),
                      AUTOPILOT_SHOW(c.jobs.mode)},
    ControllerSetting{
        "history.path", "an absolute path, or nothing in quotes", kAtStart, kNoVariable,
        "File of the history of the cluster: validations, faults, jobs on nodes and returns to service "
        "(docs/reference/history.md). Its folder must be writable. Empty: none is kept, and no node is "
        "called "
        "a lemon.",
        AUTOPILOT_READ(read_word(m, s, &is_file_or_empty, c.history.path)), AUTOPILOT_SHOW(c.history.path)},
    ControllerSetting{"history.age", "1d to 3650d", kAtStart, kNoVariable,
                      "Records that began earlier than this are deleted.",
                      AUTOPILOT_READ(read_duration(m, s.key(), std::string(s.name), hours{24},
                                                   hours{24 * 3650}, c.history.age)),
                      AUTOPILOT_SHOW(format_duration(c.history.age))},
    ControllerSetting{
        "history.bytes", "a size such as 256MiB, from 1MiB to 1TiB", kAtStart, kNoVariable,
        "Above this size, the oldest records are deleted.",
        AUTOPILOT_READ(read_size(m, s, std::uint64_t{1} << 20, std::uint64_t{1} << 40, c.history.bytes)),
        AUTOPILOT_SHOW(format_size(c.history.bytes))},
    ControllerSetting{"policy", "an absolute path, or nothing in quotes", kLive, kNoVariable,
                      "File with the remediation policy. Empty: the controller only reports the actions that "
                      "it would take.",
                      AUTOPILOT_READ(read_word(m, s, &is_file_or_empty, c.policy)), AUTOPILOT_SHOW(c.policy)},
    ControllerSetting{"alerts", kAlertReceiversForm, kAtStart, kNoVariable, kAlertReceiversHelp,
                      AUTOPILOT_READ(read_alert_receivers(m, s, c.alerts)),
                      [](const ControllerConfig& c, const ControllerSetting& s, Shown& shown) {
                        show_alert_receivers(c.alerts, s, shown);
                      }},
};

#undef AUTOPILOT_SHOW
#undef AUTOPILOT_READ

}  // namespace

std::span<const ControllerSetting> controller_settings() {
  return kControllerSettings;
}

Result<ControllerConfig> parse_controller(std::string_view text, std::string_view name,
                                          ControllerConfig base) {
  YamlProblems problems{std::string(name)};
  const YamlNode root = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  read_document(root, controller_settings(), base, problems);
  const auto& keys = base.certificates;
  if (!keys.is_own() && (keys.certificate.empty() || keys.key.empty() || keys.authorities.empty()))
    problems.add(root.line,
                 "`certificates.mode`: files needs `certificates.certificate`, `certificates.key` and "
                 "`certificates.authorities`");
  if (base.webhook.enabled && (base.webhook.image.empty() || base.webhook.agent_url.empty()))
    problems.add(root.line, "`webhook.enabled`: true needs `webhook.image` and `webhook.agent_url`");
  TRY_STATUS(problems.status());
  return base;
}

std::vector<Change> diff(const ControllerConfig& old, const ControllerConfig& next) {
  return changes_of(old, next, controller_settings());
}

ControllerConfig merge_live(const ControllerConfig& old, const ControllerConfig& next) {
  ControllerConfig merged = old;
  merged.webhook = next.webhook;
  merged.webhook.client_authorities = old.webhook.client_authorities;  // read only at the start
  merged.jobs.mode = next.jobs.mode;
  merged.policy = next.policy;
  return merged;
}

std::vector<SettingText> controller_setting_texts() {
  const ControllerConfig defaults;
  std::vector<SettingText> texts;
  for (const ControllerSetting& setting : controller_settings())
    texts.push_back({std::string(setting.name), std::string(setting.form), default_of(setting, defaults), "",
                     setting.is_live, std::string(setting.meaning)});
  return texts;
}

std::string controller_settings_page() {
  std::string page =
      "# Configuration of the controller\n\n"
      "The file of `autopilot controller --config FILE`; flags take precedence. Every key is optional.\n"
      "If the file has an unknown key, a wrong type, a duplicate key or a value out of range, it is\n"
      "refused as a whole, and the error names each place. A running controller then keeps its\n"
      "configuration, logs the error and counts it\n"
      "(`autopilot_controller_configuration_refused_total`). A new version of the file is read within\n"
      "seconds, or at SIGHUP. \"start\" below: the setting takes effect at the next start.\n\n"
      "| setting | meaning | default | format | takes effect |\n|---|---|---|---|---|\n";
  for (const SettingText& setting : controller_setting_texts())
    page += "| `" + setting.name + "` | " + setting.meaning + " | " + setting.standard + " | " +
            setting.form + " | " + (setting.is_live ? "at once" : "start") + " |\n";
  page +=
      "\n```yaml\n"
      "log_format: json\n"
      "webhook:\n"
      "  enabled: true\n"
      "  image: registry.example/autopilot@sha256:0123456789abcdef\n"
      "  agent_url: https://autopilot-node.autopilot.svc:3334\n"
      "  tests: [gpu.pcie_bandwidth]\n"
      "  deadline: 90s\n"
      "policy: /etc/autopilot/policy.yaml\n"
      "```\n";
  return page;
}

}  // namespace autopilot::config
