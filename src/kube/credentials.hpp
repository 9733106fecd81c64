// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/access.hpp"
#include "net/tls.hpp"

namespace autopilot::kube {

// Credentials from an exec plugin: a token, a certificate with its key, or both.
struct ExecCredential {
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

  std::string token;
  std::string certificate;  // PEM
  std::string key;          // PEM
  std::optional<WallTime> expires;
};

// Parses an ExecCredential of that version of client.authentication.k8s.io. malformed: names the member,
// without its content.
[[nodiscard]] Result<ExecCredential> parse_exec_credential(std::string_view text,
                                                           std::string_view api_version);

// Value of KUBERNETES_EXEC_INFO for a plugin: an ExecCredential, with the cluster if the plugin requests it.
// access.exec must be set.
[[nodiscard]] std::string exec_info_json(const Access& access);

// Runs a plugin with that text as KUBERNETES_EXEC_INFO and returns its standard output. Can block until its
// own deadline. Errors contain no part of the output.
using RunPlugin = std::function<Result<std::string>(const ExecPlugin& plugin, const std::string& exec_info)>;

// The current credentials of an Access: files are read again because they can be renewed, and an exec plugin
// runs again before its credentials end. Thread-safe; only refresh() blocks, and the other functions do not
// wait for it.
//
// Usage: call refresh() once, then token() and take_changed_identity(); later, before a request or every few
// seconds, call refresh() on a worker thread if needs_refresh().
class Credentials {
 public:
  static constexpr Duration kFilesEvery = std::chrono::seconds{60};
  // After a failure or a rejection; doubled with each further failure of a plugin.
  static constexpr Duration kPause = std::chrono::seconds{5};
  static constexpr Duration kLongestPause = std::chrono::seconds{60};
  // Credentials of a plugin are renewed this long before their end, or after three quarters of their life if
  // that is later.
  static constexpr Duration kMargin = std::chrono::seconds{60};

  // run_plugin: empty if programs cannot run; a plugin is then an error of refresh().
  Credentials(Access access, ReadFile read_file, RunPlugin run_plugin);

  // True if refresh() would read files or run a plugin. False while a refresh runs.
  [[nodiscard]] bool needs_refresh(const Instant& now) const;
  // Reads and runs what is due; returns immediately if nothing is due, or if another thread does it. A source
  // that fails keeps its old value and is retried after a pause. Returns all errors, with the code of the
  // first.
  [[nodiscard]] Status refresh(const Instant& now);

  // Token of the Authorization header; empty: no header. The token of the file, else of the configuration,
  // else of the plugin.
  [[nodiscard]] std::string token() const;
  // The server answered 401 to that token (empty: to none). Unless a newer token exists, all sources become
  // due, at least kPause after the last refresh.
  void reject(const std::string& token);

  // The identity for a new TlsContext: at the first call, and after each change. A certificate and a key that
  // were read during a replacement may not match: keep the old context then; the next refresh reads both
  // again.
  [[nodiscard]] std::optional<net::TlsIdentity> take_changed_identity();

 private:
  // Shortest interval between repetitions.
  struct Pace {
    std::optional<MonoTime> last;
    Duration wait = kPause;
    [[nodiscard]] bool allows(MonoTime now) const { return !last || now - *last >= wait; }
  };
  // Content of the files of an Access.
  struct Texts {
    std::string token;
    std::string authorities;
    std::string certificate;
    std::string key;
  };
  struct Due {
    bool files = false;
    bool plugin = false;
  };

  [[nodiscard]] Due due_at(const Instant& now) const;
  [[nodiscard]] std::string token_now() const;
  [[nodiscard]] Status read_files(Texts& texts) const;
  [[nodiscard]] Result<ExecCredential> run(const ExecPlugin& plugin) const;
  void keep(Texts texts, bool is_complete, MonoTime now);
  void keep(const Result<ExecCredential>& credential, const Instant& now);

  const Access access_;
  const ReadFile read_file_;
  const RunPlugin run_plugin_;
  const bool has_files_;

  mutable std::mutex mutex_;  // protects all members below
  bool is_refreshing_ = false;
  Texts texts_;
  Pace files_pace_;
  ExecCredential plugin_;
  Pace plugin_pace_;
  Duration pause_after_failure_ = kPause;  // of the plugin, after its next failure
  bool plugin_is_due_ = true;              // it never answered, or the server rejected its credentials
  std::optional<WallTime> plugin_ends_;    // end of the plugin's credentials, when it becomes due
  std::optional<net::TlsIdentity> taken_;
};

// Access to the cluster, as given by the process that uses it.
struct ClusterDoor {
  Access access;
  ReadFile read_file;
  RunPlugin run_plugin;
  std::string name_space;  // namespace of Autopilot's objects
  std::string pod = {};    // pod of this process, in that namespace; empty: unknown, or not in a pod
};

}  // namespace autopilot::kube
