// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "core/event.hpp"
#include "core/finding.hpp"
#include "core/incident.hpp"
#include "core/observation.hpp"

namespace autopilot::runtime {

// The node's latest events. An event is shown once the journal has it, or after kPatience without the journal
// (marked as not durable). Readers may be on any thread; all other calls belong to the runtime's thread.
class EventLog {
 public:
  static constexpr std::size_t kKept = 2048;
  static constexpr Duration kPatience = std::chrono::milliseconds{250};

  using Listener = std::function<void(const std::vector<Event>&)>;

  // Ids continue after `last_id`. `kept` has earlier events, oldest first.
  void restore(std::uint64_t last_id, std::vector<Event> kept);
  // Called with each group of newly shown events, on the runtime's thread.
  void set_listener(Listener listener) { listener_ = std::move(listener); }

  // Assigns the event's id and holds the event back until it is durable.
  const Event& add(Event event, MonoTime now);
  // All events up to this id are in the journal, except those passed to lost_up_to.
  void durable_up_to(std::uint64_t id);
  // Waiting events up to this id may never be in the journal: shows them now, as not durable.
  void lost_up_to(std::uint64_t id);
  // Without a journal: shows all events now, as not durable.
  void show_all();
  // Shows events that have waited for kPatience. Returns the time when the next one will have.
  std::optional<MonoTime> show_overdue(MonoTime now);

  // Shown events with a larger id, oldest first.
  [[nodiscard]] std::vector<Event> after(std::uint64_t id) const;
  // The id of the oldest kept event; 0 without events.
  [[nodiscard]] std::uint64_t oldest_kept() const;
  // The id of the newest shown event; 0 without events.
  [[nodiscard]] std::uint64_t newest_shown() const;

 private:
  struct Waiting {
    Event event;
    MonoTime since;
  };
  void show_front(bool durable, std::vector<Event>& shown);
  void announce(const std::vector<Event>& shown) const;

  std::uint64_t last_id_ = 0;
  std::deque<Waiting> waiting_;
  Listener listener_;
  mutable std::mutex mutex_;
  std::deque<Event> shown_;
};

// A record that the check read from the kernel log.
[[nodiscard]] Event kernel_event(const std::string& check, const Observation& record);
// `count` records beyond the limit were counted, not listed.
[[nodiscard]] Event further_records_event(const std::string& check, std::size_t count);
[[nodiscard]] Event records_lost_event(std::uint64_t count);
// The stored state may be incomplete, or is complete again.
[[nodiscard]] Event memory_loss_event(EventKind kind, const Finding& finding);
// A user of process `pid` acknowledged the incident.
[[nodiscard]] Event acknowledged_event(const Incident& incident, const Acknowledgement& acknowledgement,
                                       std::int64_t pid);

}  // namespace autopilot::runtime
