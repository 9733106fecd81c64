// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/access.hpp"
#include "kube/exec_credential.hpp"
#include "net/tls.hpp"

namespace autopilot::kube {

// Runs a plugin with that text as KUBERNETES_EXEC_INFO and gives what it wrote to its standard output. May
// block, for as long as its own deadline. Its errors hold nothing of the output.
using RunPlugin = std::function<Result<std::string>(const ExecPlugin& plugin, const std::string& exec_info)>;

// What a client of an Access shows now: files are read again, because somebody renews them, and an exec
// plugin is run again before what it gave ends. Thread-safe; only refresh() blocks, and the others do not
// wait for it.
//
// Use: refresh() once, then token() and take_changed_identity(); later, before a request or every few
// seconds, refresh() on a thread that may block where needs_refresh().
class Credentials {
 public:
  static constexpr Duration kFilesEvery = std::chrono::seconds{60};
  // After a failure or a rejection; doubled with each further failure of a plugin.
  static constexpr Duration kPause = std::chrono::seconds{5};
  static constexpr Duration kLongestPause = std::chrono::seconds{60};
  // Before its end a plugin's answer is renewed: so much, or a quarter of its life if that is less.
  static constexpr Duration kMargin = std::chrono::seconds{60};

  // run_plugin: empty where no program may be run; a plugin is then an error of refresh().
  Credentials(Access access, ReadFile read_file, RunPlugin run_plugin);

  // Whether refresh() would read or run something. False while one is under way.
  [[nodiscard]] bool needs_refresh(const Instant& now) const;
  // Reads and runs what is due; at once where nothing is, or where another thread is at it. What fails keeps
  // its old value, is tried again after a pause, and is the error: all of them, with the code of the first.
  [[nodiscard]] Status refresh(const Instant& now);

  // What the Authorization header bears; empty: no such header. The file's token, else that of the
  // configuration, else the plugin's.
  [[nodiscard]] std::string token() const;
  // The server said 401 to that token (empty: to none). Unless there is a newer one by now, all is due again,
  // after kPause since it last was.
  void reject(const std::string& token);

  // What to make a TlsContext of: at the first call, and after each change. A certificate and its key that
  // were read while somebody replaced them may not fit each other: keep the old context then, for the next
  // round reads both again.
  [[nodiscard]] std::optional<net::TlsIdentity> take_changed_identity();

 private:
  // How often something may be done.
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

  mutable std::mutex mutex_;  // of all below
  bool is_refreshing_ = false;
  Texts texts_;
  Pace files_pace_;
  ExecCredential plugin_;
  Pace plugin_pace_;
  Duration pause_after_failure_ = kPause;  // of the plugin, the next time
  bool plugin_is_due_ = true;              // it never answered, or the server rejected its answer
  std::optional<WallTime> plugin_ends_;    // when it is due by itself
  std::optional<net::TlsIdentity> taken_;
};

}  // namespace autopilot::kube
