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

// What a watch tells, in order. After on_list() the objects of the list are all there are; on_change() goes
// on from there.
struct WatchEvents {
  std::function<void()> on_list_begin;
  std::function<void(const JsonObject& object)> on_listed;
  std::function<void()> on_list_end;
  std::function<void(const JsonObject& object)> on_changed;  // added, or changed
  std::function<void(const JsonObject& object)> on_removed;
  // Everything until now was told, changes or not: about once in a minute.
  std::function<void()> on_current = [] {};
  // What is known grows old from now on, until the next call of another function. Each time it fails again.
  std::function<void(const ApiError& error)> on_problem;
};

struct WatchOptions {
  ApiPath list;  // with selectors in its query
  std::size_t page = 500;
  // Every list is what the server's store has, never what one server of several still believes. It costs the
  // cluster more.
  bool is_exact = false;
  Duration serve = std::chrono::minutes{5};     // how long the server is asked to go on with one watch
  Duration silence = std::chrono::seconds{90};  // without a byte, bookmarks among them
  Duration between_lists = std::chrono::seconds{10};
  BackOffTimes back_off;
};

// Lists once, then follows the changes from there: over cut watches, silence and restarts of the server it
// goes on where it was; it lists again only when the server has forgotten that place (410), and never more
// often than once in `between_lists`. On the loop's thread. Ends with its destruction.
class Watch {
 public:
  // random: in [0, 1), for the jitter of pauses.
  Watch(net::EventLoop& loop, Client& client, WatchOptions options, WatchEvents events,
        std::function<double()> random);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() = default;

  void start();
  // False until the first list was complete.
  [[nodiscard]] bool is_synced() const { return is_synced_; }
  // Lists and watches that were begun.
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
  net::Subscription list_again_;  // active while no list may begin
  BackOff back_off_;
  std::string version_;      // where the next watch goes on
  bool wants_list_ = false;  // as soon as one may begin
  bool is_exact_ = false;    // the next list must be the newest, not the server's cached one
  bool is_first_page_ = false;
  bool is_synced_ = false;
  bool has_news_ = false;  // the watch under way has told something
  std::uint64_t lists_ = 0;
  std::uint64_t watches_ = 0;
};

}  // namespace autopilot::kube
