// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "kube/back_off.hpp"
#include "kube/client.hpp"
#include "net/event_loop.hpp"

namespace autopilot::kube {

struct JsonObject;  // json_object.hpp

// Callbacks of a watch, in order. After on_list() the objects of the list are complete; on_changed() and
// on_removed() continue from there.
struct WatchEvents {
  std::function<void()> on_list_begin;
  std::function<void(const JsonObject& object)> on_listed;
  std::function<void()> on_list_end;
  std::function<void(const JsonObject& object)> on_changed;  // added or changed
  std::function<void(const JsonObject& object)> on_removed;
  // All changes until now are reported, also if there were none: about once a minute.
  std::function<void()> on_current = [] {};
  // The data is out of date from now on, until the next call of another callback. Called at each failure.
  std::function<void(const ApiError& error)> on_problem;
};

struct WatchOptions {
  ApiPath list;  // with selectors in its query
  std::size_t page = 500;
  // Every list is a consistent read from the server's store, not from the cache of one server. It costs the
  // cluster more.
  bool is_exact = false;
  Duration serve = std::chrono::minutes{5};     // requested duration of one watch
  Duration silence = std::chrono::seconds{90};  // longest time without a byte, including bookmarks
  Duration between_lists = std::chrono::seconds{10};
  BackOffTimes back_off;
};

// Lists once, then follows changes: after closed watches, silence and server restarts it continues from its
// last version. It lists again only if the server no longer has that version (410), and at most once per
// `between_lists`. On the loop's thread. Ends with its destruction.
class Watch {
 public:
  // random: in [0, 1), for the jitter of pauses.
  Watch(net::EventLoop& loop, Client& client, WatchOptions options, WatchEvents events,
        std::function<double()> random);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() = default;

  void start();
  // False until the first list is complete.
  [[nodiscard]] bool is_synced() const { return is_synced_; }
  // Number of started lists and watches.
  [[nodiscard]] std::uint64_t lists() const { return lists_; }
  [[nodiscard]] std::uint64_t watches() const { return watches_; }

 private:
  void list_when_allowed();
  void list_page(const std::string& from);
  void take_page(const ApiResult<std::string>& page);
  void follow();
  void take_line(std::string_view line);
  void give_up_on_watch(const ApiError& why);
  void take_end(const std::optional<ApiError>& why);
  void retry(const ApiError& error, std::function<void()> step);

  net::EventLoop& loop_;
  Client& client_;
  const WatchOptions options_;
  const WatchEvents events_;
  const std::function<double()> random_;

  net::Exchange exchange_;
  net::Subscription pause_;
  net::Subscription list_again_;  // active while a list must wait
  BackOff back_off_;
  std::string version_;      // start of the next watch
  bool wants_list_ = false;  // list as soon as allowed
  bool is_exact_ = false;    // the next list must be a consistent read, not from the server's cache
  bool is_first_page_ = false;
  bool is_synced_ = false;
  bool has_news_ = false;  // the watch in progress has delivered data
  std::uint64_t lists_ = 0;
  std::uint64_t watches_ = 0;
};

}  // namespace autopilot::kube
