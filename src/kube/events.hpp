// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/clock.hpp"
#include "kube/caches.hpp"
#include "kube/client.hpp"
#include "kube/pacing.hpp"

namespace autopilot::kube {

enum class EventType : std::uint8_t { normal, warning };
// "Normal", "Warning".
[[nodiscard]] std::string_view to_string(EventType type);

// What an Event is about: its involvedObject.
struct EventObject {
  std::string api_version;
  std::string kind;
  std::string name_space;  // empty: a cluster-scoped object, whose Events are in "default"
  std::string name;
  std::string uid;

  friend bool operator==(const EventObject&, const EventObject&) = default;
};

// A message for people who inspect the object.
struct EventFact {
  EventObject object;
  EventType type = EventType::normal;
  std::string reason;   // one word in CamelCase, out of a small set
  std::string message;  // for people; can come from outside
};

// A core/v1 Event to write. Not events.k8s.io/v1: only core/v1 has `count`, which `kubectl describe` shows as
// "x12 over 3m".
struct EventWrite {
  enum class Kind : std::uint8_t {
    create,
    // Updates count, last and message. The server deletes Events after about an hour: if the name does not
    // exist, create it with the same fields.
    patch,
  };
  Kind kind = Kind::create;
  std::string name_space;
  std::string name;  // "<object>.<hex>"
  EventObject object;
  EventType type = EventType::normal;
  std::string reason;
  std::string message;  // valid UTF-8, at most kLongestMessage bytes
  std::int32_t count = 1;
  WallTime first{};
  WallTime last{};
};

struct EventLimits {
  Duration window =
      std::chrono::minutes{10};  // a fact that was not repeated for this long starts a new Event
  std::size_t messages = 10;     // different messages of one object, type and reason
  int burst = 25;                // Events of one object, then one every `spacing`
  Duration spacing = std::chrono::minutes{5};
  std::size_t names = 1024;  // entries of each table
};

// Turns facts into Events without flooding the API server: a repeated fact increases a count; too many
// different messages of one kind become one "(combined from similar events)"; an object with too many facts
// is rate limited. Pure; on one thread.
class EventRecorder {
 public:
  explicit EventRecorder(const EventLimits& limits = {});

  static constexpr std::size_t kLongestMessage = 1024;

  // The Event to write for the fact; nullopt if its object exceeds its rate. The fact is counted, and
  // included in the count of the next Event of its kind.
  [[nodiscard]] std::optional<EventWrite> record(const EventFact& fact, const Instant& now);

  // Facts without an Event.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  // Number of entries removed early because there were too many names.
  [[nodiscard]] std::uint64_t forgotten() const;

 private:
  // The messages of one object, type and reason.
  struct Similar {
    std::set<std::size_t> messages;  // hashes
    MonoTime last{};
  };
  struct Event {
    std::string name;
    std::int32_t count = 0;
    WallTime first{};
    MonoTime last{};
    bool is_written = false;
  };

  [[nodiscard]] bool is_one_too_many(const std::string& kind, const std::string& message, MonoTime now);
  [[nodiscard]] Event& count(const std::string& key, const EventFact& fact, const Instant& now);
  [[nodiscard]] std::string new_name(const std::string& object, WallTime now);

  EventLimits limits_;
  RecentMap<Similar> similar_;
  RecentMap<Event> events_;
  RecentMap<TokenBucket> talk_;
  std::int64_t last_name_ns_ = 0;
  std::uint64_t dropped_ = 0;
};

// Facts that wait to become Events, at most the newest `most`. One is in progress at a time, until the server
// accepts it or rejects it for good. On one thread.
class EventQueue {
 public:
  explicit EventQueue(std::size_t most, const EventLimits& limits = {}) : most_(most), recorder_(limits) {}

  void note(const EventFact& fact, const Instant& now);
  // The next write, the same until written() or refused(); null: none waits.
  [[nodiscard]] EventWrite* next();
  // The server has stored it.
  void written() { under_way_.reset(); }
  // The server's outcome: retries the write in another form if possible, otherwise drops it.
  void refused(ApiOutcome outcome);
  // Drops the write in progress.
  void drop();

  [[nodiscard]] bool has_next() const { return under_way_ || !waiting_.empty(); }
  // Events that were dropped: too many waited, their object exceeded its rate, or the server refused them.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_ + recorder_.dropped(); }

 private:
  std::size_t most_;
  EventRecorder recorder_;
  std::deque<EventWrite> waiting_;
  std::optional<EventWrite> under_way_;
  std::uint64_t dropped_ = 0;
};

// The reporting component: "autopilot-agent" on a host.
struct EventSource {
  std::string component;
  std::string host;
};

// Body of the request that creates the Event, or of the patch that updates it.
[[nodiscard]] std::string event_json(const EventWrite& write, const EventSource& source);
[[nodiscard]] net::Exchange send_event(Client& client, const EventWrite& write, const EventSource& source,
                                       OnObject on_answer);

struct JsonObject;  // json_object.hpp

// A core/v1 Event of the cluster. A missing field is empty.
struct RecordedEvent {
  std::string kind;  // of the involved object: "Node"
  std::string name;
  std::string component;  // the reporting component: "autopilot-agent"
  std::string type;       // "Normal", "Warning"
  std::string reason;
  std::string message;
  std::int64_t count = 1;
  std::optional<WallTime> first;
  std::optional<WallTime> last;
};
[[nodiscard]] RecordedEvent parse_recorded_event(const JsonObject& object);

}  // namespace autopilot::kube
