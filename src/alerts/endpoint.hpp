// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "config/alert_receivers.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"
#include "net/key_files.hpp"

namespace autopilot::alerts {

// What a receiver answered. later: the same request can succeed later. refused: it cannot.
enum class Answer : std::uint8_t { accepted, later, refused };

struct Reply {
  Answer answer = Answer::accepted;
  std::string why;  // without the path of the URL, which can be a secret; empty: accepted
};

// Runs a task that may block on a worker.
using RunBlocking = std::function<void(std::function<void()> task)>;

// The address of one receiver, with the files that its configuration names. The files are read on a worker
// and again at an interval, so that they can be replaced; after a failure the last content stays in use.
// The certificate of an https address is verified. On the loop's thread.
class Endpoint {
 public:
  static constexpr Duration kDeadline = std::chrono::seconds{10};  // of one request
  static constexpr Duration kReadEvery = std::chrono::seconds{20};
  static constexpr std::size_t kMaxKey = 4096;  // bytes of a key

  // path: added to that of the URL. on_ready: the address is known now, or changed.
  Endpoint(net::EventLoop& loop, config::AlertReceiver receiver, std::string path, net::ReadFile read_file,
           RunBlocking run_blocking, std::function<void()> on_ready);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint();

  [[nodiscard]] bool is_ready() const { return session_ != nullptr; }
  // Why a file cannot be used; empty: none.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // Key of the signature; empty: the receiver has none.
  [[nodiscard]] const std::string& key() const;
  [[nodiscard]] const config::AlertReceiver& receiver() const { return receiver_; }

  // Only while is_ready(). on_reply is not called from within the call.
  [[nodiscard]] net::Exchange post(std::string body, std::map<std::string, std::string, std::less<>> headers,
                                   std::function<void(Reply)> on_reply);

 private:
  struct Texts;  // content of the files
  struct Seen;   // result of the worker

  void read();
  void look();
  void take(const Result<Texts>& texts);
  [[nodiscard]] Status use(const Texts& texts);
  void object(const std::string& why);

  net::EventLoop& loop_;
  const config::AlertReceiver receiver_;
  const std::string path_;
  const net::ReadFile read_file_;
  const RunBlocking run_blocking_;
  const std::function<void()> on_ready_;
  const std::shared_ptr<Seen> seen_;
  std::unique_ptr<Texts> texts_;  // in use
  std::string target_path_;
  std::map<std::string, std::string, std::less<>> target_query_;
  std::string problem_;
  std::unique_ptr<net::HttpSession> session_;
  net::Subscription look_;
};

}  // namespace autopilot::alerts
