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

// The node's latest events, as they may be shown: an event appears when the journal has it, or after
// kPatience without that (marked as not durable). Readers may be on any thread; the rest belongs to the
// runtime's thread.
class EventLog {
 public:
  static constexpr std::size_t kKept = 2048;
  static constexpr Duration kPatience = std::chrono::milliseconds{250};

  using Listener = std::function<void(const std::vector<Event>&)>;

  // Ids go on after `last_id`. `kept` are earlier events, oldest first.
  void restore(std::uint64_t last_id, std::vector<Event> kept);
  // Called with each group of newly shown events, on the runtime's thread.
  void set_listener(Listener listener) { listener_ = std::move(listener); }

  // Gives the event its id and holds it back until it is durable.
  const Event& add(Event event, MonoTime now);
  // Everything up to this id is in the journal, but what lost_up_to was told of.
  void durable_up_to(std::uint64_t id);
  // What waits up to this id may never be in the journal: shown at once, as not durable.
  void lost_up_to(std::uint64_t id);
  // There is no journal: show at once, as not durable.
  void show_all();
  // Shows what has waited too long. Gives the moment when the next one will have.
  std::optional<MonoTime> show_overdue(MonoTime now);

  // Shown events with a larger id, oldest first.
  [[nodiscard]] std::vector<Event> after(std::uint64_t id) const;
  // The id of the oldest event still kept; 0 when there is none.
  [[nodiscard]] std::uint64_t oldest_kept() const;
  // The id of the newest shown event; 0 when there is none.
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

// A record that the check read in the kernel log.
[[nodiscard]] Event kernel_event(const std::string& check, const Observation& record);
// So many more were read than were told.
[[nodiscard]] Event further_records_event(const std::string& check, std::size_t count);
[[nodiscard]] Event records_lost_event(std::uint64_t count);
// What was known may be forgotten, or that no longer matters.
[[nodiscard]] Event memory_loss_event(EventKind kind, const Finding& finding);
// Who, from which process, has seen the incident, and why nothing more is needed.
[[nodiscard]] Event acknowledged_event(const Incident& incident, const Acknowledgement& acknowledgement,
                                       std::int64_t pid);

}  // namespace autopilot::runtime
