// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace storage_nfs {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// The log reports a hanging request only once, for any duration.
constexpr Duration kWindow = hours{6};
// Timeouts count for this time.
constexpr Duration kLately = hours{1};
// Servers beyond this limit are counted as left out.
constexpr std::size_t kMaxServers = 64;

constexpr std::string_view kId = "storage.nfs";
constexpr std::string_view kMountstats = "/proc/self/mountstats";

// About one server, over all transports to it.
constexpr std::string_view kSends = "nfs.sends";
constexpr std::string_view kReceives = "nfs.receives";
constexpr std::string_view kTimeouts = "nfs.timeouts";
constexpr std::string_view kLeftOut = "nfs.left_out";

constexpr std::string_view kSilentRule = "filesystem.nfs_not_responding";

Subject server_subject(const std::string& name) {
  return make_subject(SubjectKind::peer, name);
}

// --- observe ---

struct Server {
  std::string name;
  std::vector<std::string> versions;
  std::uint64_t sends = 0;
  std::uint64_t receives = 0;
  std::uint64_t timeouts = 0;
  std::string mounts;  // for people
};

// Mounts of one server and version list the same transports, so only the first of them counts.
std::vector<Server> servers_of(const std::vector<host::NfsMount>& mounts) {
  std::vector<Server> servers;
  for (const host::NfsMount& mount : mounts) {
    auto found = std::ranges::find(servers, mount.server, &Server::name);
    if (found == servers.end()) {
      servers.push_back({.name = mount.server, .versions = {}, .mounts = {}});
      found = std::prev(servers.end());
    }
    constexpr std::size_t most_text = 200;
    if (found->mounts.size() < most_text)
      found->mounts += (found->mounts.empty() ? "" : ", ") + mount.mount_point;
    found->timeouts += mount.timeouts;
    if (std::ranges::find(found->versions, mount.version) != found->versions.end()) continue;
    found->versions.push_back(mount.version);
    found->sends += mount.sends;
    found->receives += mount.receives;
  }
  return servers;
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  const auto mounts = TRY(host::read_nfs_mounts(host.files));
  if (mounts.empty()) return fail(Errc::unsupported, "no NFS filesystem is mounted");
  Observed observed;
  observed.witnesses = {std::string(kMountstats)};
  ObservationBuilder seen(request.now);
  const std::vector<Server> servers = servers_of(mounts);
  for (std::size_t i = 0; i < std::min(servers.size(), kMaxServers); ++i) {
    const Server& server = servers[i];
    const Subject subject = server_subject(server.name);
    seen.add_count(subject, kSends, kMountstats, server.sends).attributes = {{"mounts", server.mounts}};
    seen.add_count(subject, kReceives, kMountstats, server.receives);
    seen.add_count(subject, kTimeouts, kMountstats, server.timeouts);
  }
  if (servers.size() > kMaxServers)
    seen.add_count(host_subject(), kLeftOut, kMountstats, servers.size() - kMaxServers);
  observed.observations = seen.take();
  // If the log cannot be read, only the counters are used, and `witnesses` lacks the log.
  static_cast<void>(add_rule_events(
      host, request, kId,
      [](const DecodedRecord& decoded) { return server_subject(attribute_of(decoded, "server")); },
      observed));
  return observed;
}

// --- judge ---

class ServerJudge {
 public:
  ServerJudge(const JudgeInput& input, const Subject& server) : input_(input), server_(server) { read_log(); }

  [[nodiscard]] std::optional<Finding> finding() const {
    if (!is_mounted()) {
      if (silent_ == nullptr) return std::nullopt;
      Finding finding = make("could_not_look", Health::unknown,
                             "does not answer, as the kernel reports; it is not mounted any more, so its "
                             "recovery cannot be checked");
      add_line(finding, *silent_);
      return finding;
    }
    if (silent_ != nullptr) {
      Finding finding =
          make("nfs_server_silent", Health::failed, "does not answer: the kernel is still waiting");
      add_line(finding, *silent_);
      finding.since = silent_->time.wall;
      return finding;
    }
    const Limit longest = limit(input_, "storage.nfs.silent_seconds");
    const Duration silent = silent_for();
    if (to_seconds(silent) >= longest.value) {
      Finding finding = make_finding(
          input_, server_, "nfs_server_silent", Health::failed,
          text("has not answered for " + format_duration(std::chrono::duration_cast<seconds>(silent)) +
               ", although requests were sent"),
          to_seconds(silent), longest);
      add_facts(finding);
      return finding;
    }
    const Limit most = limit(input_, "storage.nfs.timeouts");
    const auto growth = input_.history.growth(server_, kTimeouts, input_.now, kLately);
    const double timeouts = std::max(lines_, growth ? growth->delta : 0);
    if (timeouts <= most.value) return std::nullopt;
    Finding finding = make_finding(
        input_, server_, "nfs_timeouts", Health::degraded,
        text("answers, but let " + rounded(timeouts) + (timeouts == 1 ? " request" : " requests") +
             " time out in the last " + format_duration(kLately) + " (limit " + rounded(most.value) + ")"),
        timeouts, most);
    add_facts(finding);
    if (last_line_ != nullptr) add_line(finding, *last_line_);
    return finding;
  }

 private:
  // The kernel logs once that it waits, and once that the server answers again. The second line may be lost,
  // and a request may time out although others are answered, so a reply since then counts as well.
  void read_log() {
    for (const Observation& event : input_.history.events()) {
      if (event.subject != server_ || !may_act(event)) continue;
      // A soft mount gave up: its programs got an error and do not wait.
      const bool has_given_up = attribute_of(event, "state") == "timed out";
      if (!has_given_up) silent_ = event.name == kSilentRule ? &event : nullptr;
      if (event.name != kSilentRule || event.time.mono < input_.now.mono - kLately) continue;
      last_line_ = &event;
      lines_ += static_cast<double>(event_count(event));
    }
    if (silent_ != nullptr && has_answered_since(silent_->time.mono)) silent_ = nullptr;
  }

  [[nodiscard]] bool has_answered_since(MonoTime time) const {
    const auto samples = input_.history.samples(server_, kReceives);
    for (std::size_t i = 1; i < samples.size(); ++i)
      if (samples[i - 1].time >= time && samples[i].value != samples[i - 1].value) return true;
    return false;
  }

  // Time since the first unanswered request was sent; a reply to any request resets it.
  [[nodiscard]] Duration silent_for() const {
    const auto sends = input_.history.samples(server_, kSends);
    const auto receives = input_.history.samples(server_, kReceives);
    if (sends.size() != receives.size()) return Duration{0};
    std::optional<MonoTime> since;
    for (std::size_t i = sends.size(); i-- > 1;) {
      if (receives[i].value != receives[i - 1].value) break;
      if (sends[i].value != sends[i - 1].value) since = sends[i].time;
    }
    return since ? input_.now.mono - *since : Duration{0};
  }

  [[nodiscard]] std::string text(const std::string& what) const {
    return "file server " + server_.key + " " + what + (mounts().empty() ? "" : " (" + mounts() + ")");
  }
  [[nodiscard]] bool is_mounted() const { return input_.history.find(server_, kSends) != nullptr; }
  [[nodiscard]] std::string mounts() const {
    const Observation* sends = input_.history.find(server_, kSends);
    const Value* value = sends == nullptr ? nullptr : find_attribute(sends->attributes, "mounts");
    return value == nullptr ? std::string() : to_string(*value);
  }
  void add_facts(Finding& finding) const {
    finding.evidence.emplace_back("mounts", mounts());
    finding.evidence.emplace_back("witness", std::string(kMountstats));
  }
  [[nodiscard]] Finding make(std::string_view reason, Health health, const std::string& what) const {
    Finding finding = make_finding(input_, server_, reason, health, text(what));
    finding.evidence = {{"mounts", mounts()}};
    return finding;
  }

  const JudgeInput& input_;
  const Subject& server_;
  const Observation* silent_ = nullptr;
  const Observation* last_line_ = nullptr;
  double lines_ = 0;
};

// Servers of the mounts, and servers that only the log names.
std::vector<Subject> servers(const History& history) {
  std::vector<Subject> servers = history.subjects(SubjectKind::peer);
  for (const Observation& event : history.events())
    if (std::ranges::find(servers, event.subject) == servers.end()) servers.push_back(event.subject);
  return servers;
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  for (const Subject& server : servers(input.history))
    if (auto finding = ServerJudge(input, server).finding()) findings.push_back(*std::move(finding));
  return findings;
}

}  // namespace
}  // namespace storage_nfs

const Check kStorageNfs = {
    .info = {.id = std::string(storage_nfs::kId),
             .title = "NFS servers",
             .tags = {"storage", "network", "passive"},
             .period = std::chrono::minutes{1},
             .deadline = std::chrono::seconds{5},
             .window = storage_nfs::kWindow,
             .cost = Cost::cheap,
             .witnesses = {std::string(storage_nfs::kMountstats), "/dev/kmsg"},
             .rights = {"CAP_SYSLOG"},
             .needs_window = true},
    .observe = storage_nfs::observe,
    .judge = storage_nfs::judge,
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
