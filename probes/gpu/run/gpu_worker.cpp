// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/run/gpu_worker.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sched.h>

#include "core/parse.hpp"
#include "probes/gpu/sensors/sensors.hpp"

namespace autopilot::probes::gpu {

bool Meeting::meet(std::size_t member) {
  std::unique_lock lock(mutex_);
  const std::size_t round = round_;
  arrived_[member] = true;
  open_when_complete();
  opened_.wait(lock, [&] { return round_ != round || !present_[member]; });
  return present_[member];
}

void Meeting::leave(std::size_t member) {
  const std::scoped_lock lock(mutex_);
  present_[member] = false;
  open_when_complete();
  opened_.notify_all();
}

void Meeting::open_when_complete() {
  for (std::size_t i = 0; i < present_.size(); ++i)
    if (present_[i] && !arrived_[i]) return;
  arrived_.assign(arrived_.size(), false);
  ++round_;
  opened_.notify_all();
}

namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

bool run_only_on(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors)
    if (processor < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(processor), &set);
  return CPU_COUNT(&set) > 0 && sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace

std::optional<int> stay_near(const std::string& pci_address, const std::string& sysfs) {
  const std::string device = sysfs + "/bus/pci/devices/" + pci_address;
  const auto node_text = first_line(device + "/numa_node");
  const auto list_text = first_line(device + "/local_cpulist");
  if (!node_text || !list_text) return std::nullopt;
  const auto node = parse_number<int>(*node_text);
  const auto processors = parse_id_list(*list_text);
  if (!node || *node < 0 || !processors || !run_only_on(*processors)) return std::nullopt;
  return node;
}

namespace {

class Worker {
 public:
  Worker(const Options& options, Meeting& meeting, std::size_t member, std::span<GpuSlot* const> all)
      : options_(options), meeting_(meeting), member_(member), members_(all.size()), slot_(*all[member]) {
    for (const GpuSlot* slot : all)
      if (slot != &slot_) others_.push_back({slot->facts(), [slot] { return slot->why_left_out(); }});
  }

  Status run(const Library& library, const Sensors* sensors) {
    const GpuFacts& facts = slot_.facts();
    if (sensors != nullptr && !options_.beside_others) TRY_STATUS(check_use(*sensors, facts));
    if (sensors != nullptr) watts_ = watts_by(*sensors, facts);
    const auto node = stay_near(facts.pci_address);
    auto session = TRY(Session::open(Driver(library, slot_.watch), facts, options_.memory_share));
    TRY_STATUS(session->load_kernels(options_.kernels));
    if (const auto& refused = session->refused_kernels())
      std::fprintf(stderr, "gpu %d: the driver refuses the kernels %s; those of %s are used\n", facts.index,
                   refused->c_str(), session->kernels().level.c_str());
    slot_.change([&](GpuReport& report) {
      report.numa_node = node;
      report.kernel_level = session->kernels().level;
      report.refused_kernels = session->refused_kernels();
      report.load_seconds = session->load_seconds();
      report.free_bytes = session->free_bytes();
      report.budget_bytes = session->budget_bytes();
    });
    for (const GpuTest& test : gpu_tests())
      if (std::find(options_.tests.begin(), options_.tests.end(), test.name) != options_.tests.end())
        TRY_STATUS(take_part(*session, test));
    return outcome_of_pairs_;
  }

 private:
  // Of this GPU, now.
  [[nodiscard]] std::function<std::optional<double>()> watts_by(const Sensors& sensors,
                                                                const GpuFacts& facts) const {
    return [&sensors, &watch = slot_.watch, address = facts.pci_address]() -> std::optional<double> {
      const InCall in_call(watch, "NVML");
      const auto device = sensors.find(address);
      return device ? sensors.read(*device).power_w : std::nullopt;
    };
  }

  Status check_use(const Sensors& sensors, const GpuFacts& facts) {
    const InCall in_call(slot_.watch, "NVML");
    const auto device = sensors.find(facts.pci_address);
    return device ? check_is_free(sensors.processes(*device), sensors.read(*device)) : Status{};
  }

  // On one GPU after the other if the test needs it, then on all at once.
  Status take_part(Session& session, const GpuTest& test) {
    for (std::size_t turn = 0; test.alone && turn < members_; ++turn) {
      TRY_STATUS(meet());
      if (turn == member_) TRY_STATUS(run_test(session, test, false));
    }
    if (test.alone && members_ == 1) return {};
    TRY_STATUS(meet());
    return run_test(session, test, members_ > 1);
  }

  Status meet() {
    if (meeting_.meet(member_)) return {};
    return fail(Errc::timed_out, "was abandoned");
  }

  Status run_test(Session& session, const GpuTest& test, bool together) {
    std::fprintf(stderr, "gpu %d: %s, %s\n", session.facts().index, std::string(test.name).c_str(),
                 together ? "all together" : "alone");
    TestReport report{.test = std::string(test.name), .together = together, .measured = {}, .skipped = {}};
    slot_.test = &test;
    auto measured = test.run(session, {.seconds = options_.seconds,
                                       .memory_share = options_.memory_share,
                                       .others = others_,
                                       .why_not = [this] { return slot_.why_left_out(); },
                                       .watts = watts_});
    slot_.test = nullptr;
    if (measured)
      report.measured = std::move(*measured);
    else if (measured.error().code == Errc::unsupported)
      report.skipped = measured.error().what;
    else
      return fail(measured.error().code, report.test + ": " + measured.error().what);
    note_pairs(report);
    const std::optional<Error> broken_by = report.measured.broken_by;
    slot_.change([&](GpuReport& gpu) {
      gpu.tests.push_back(std::move(report));
      gpu.most_used_bytes = session.most_used_bytes();
    });
    if (broken_by) return fail(broken_by->code, std::string(test.name) + ": " + broken_by->what);
    return {};
  }

  // The faulty GPU of the pair is unknown: this GPU continues, and reports at its end what was not tested.
  void note_pairs(const TestReport& report) {
    for (const UntestedPeer& pair : report.measured.untested)
      if (pair.has_failed && outcome_of_pairs_)
        outcome_of_pairs_ = fail(Errc::unavailable, report.test + ": with " + pair.peer + ": " + pair.why);
  }

  const Options& options_;
  Meeting& meeting_;
  std::size_t member_;
  std::size_t members_;
  std::vector<Peer> others_;
  std::function<std::optional<double>()> watts_;
  GpuSlot& slot_;
  Status outcome_of_pairs_;
};

}  // namespace

void run_gpu(const Library& library, const Sensors* sensors, const Options& options, Meeting& meeting,
             std::size_t member, std::span<GpuSlot* const> all) {
  GpuSlot& slot = *all[member];
  const Status outcome = Worker(options, meeting, member, all).run(library, sensors);
  if (!outcome)
    slot.change([&](GpuReport& report) {
      if (!report.error) report.error = outcome.error().what;
    });
  meeting.leave(member);
  slot.done = true;
}

}  // namespace autopilot::probes::gpu
