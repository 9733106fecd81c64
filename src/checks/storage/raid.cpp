// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace storage_raid {
namespace {

constexpr std::string_view kSysfs = "sysfs";

constexpr std::string_view kState = "raid.state";
constexpr std::string_view kLevel = "raid.level";
constexpr std::string_view kContainer = "raid.container";
constexpr std::string_view kPlaces = "raid.places";
constexpr std::string_view kMissing = "raid.missing";
constexpr std::string_view kFaulty = "raid.faulty";  // names of members
constexpr std::string_view kAction = "raid.action";
constexpr std::string_view kProgress = "raid.progress";

Subject array_subject(const std::string& name) {
  return make_subject(SubjectKind::disk, name);
}

std::string names_of_faulty(const host::RaidArray& array) {
  std::string names;
  for (const host::RaidMember& member : array.members)
    if (member.is_faulty) names += (names.empty() ? "" : ", ") + member.name;
  return names;
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  const auto arrays = TRY(host::scan_raid_arrays(host.files));
  if (arrays.empty()) return fail(Errc::unsupported, "the kernel has no software RAID array");
  ObservationBuilder seen(request.now);
  for (const host::RaidArray& array : arrays) {
    const Subject subject = array_subject(array.name);
    if (array.problem) {
      seen.add_missing(subject, kState, kSysfs, to_string(array.problem->code), array.problem->what);
      continue;
    }
    seen.add(subject, kState, kSysfs, array.state);
    seen.add(subject, kLevel, kSysfs, array.level);
    seen.add(subject, kContainer, kSysfs, array.is_container);
    seen.add(subject, kPlaces, kSysfs, std::int64_t{array.places}, "count");
    seen.add(subject, kMissing, kSysfs, std::int64_t{array.missing}, "count");
    seen.add(subject, kFaulty, kSysfs, names_of_faulty(array));
    seen.add(subject, kAction, kSysfs, array.action);
    if (array.progress) seen.add(subject, kProgress, kSysfs, *array.progress, "ratio");
  }
  Observed observed;
  observed.witnesses = {std::string(kSysfs)};
  observed.observations = seen.take();
  return observed;
}

// Number of members that each level can lose, by md(4). For RAID 10 it depends on the members.
std::optional<double> tolerated_losses(std::string_view level, double places) {
  if (level == "raid1") return places - 1;
  if (level == "raid4" || level == "raid5") return 1;
  if (level == "raid6") return 2;
  return std::nullopt;
}

class ArrayJudge {
 public:
  ArrayJudge(const JudgeInput& input, const Subject& array)
      : input_(input), array_(array), level_(word(kLevel)), state_(word(kState)) {}

  [[nodiscard]] std::optional<Finding> finding() const {
    if (const Observation* state = input_.history.find(array_, kState); !state->missing.empty())
      return make_finding(input_, array_, "could_not_look", Health::unknown,
                          array_.key + ": " + to_string(*find_attribute(state->attributes, "error")));
    const double missing = number(kMissing);
    const std::string faulty = word(kFaulty);
    const auto tolerated = tolerated_losses(level_, number(kPlaces));
    if (state_ == "broken" || (tolerated && missing > *tolerated))
      return make("raid_failed", Health::failed,
                  "lost more members than its level tolerates" + listed(faulty));
    if (missing > 0)
      return make("raid_degraded", Health::degraded,
                  "lacks " + rounded(missing) + " of " + rounded(number(kPlaces)) + " members" +
                      listed(faulty) + repair());
    if (!faulty.empty())
      return make("raid_degraded", Health::degraded,
                  "has all members, but a faulty one among them" + listed(faulty));
    if (state_ == "inactive" && !is_container())
      return make("raid_inactive", Health::degraded, "is assembled, but does not run");
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::string word(std::string_view name) const {
    return input_.history.word(array_, name).value_or("");
  }
  [[nodiscard]] double number(std::string_view name) const {
    return input_.history.number(array_, name).value_or(0);
  }
  [[nodiscard]] bool is_container() const { return number(kContainer) != 0; }

  static std::string listed(const std::string& faulty) {
    return faulty.empty() ? "" : " (faulty: " + faulty + ")";
  }
  [[nodiscard]] std::string repair() const {
    if (word(kAction) != "recover") return "; no rebuild is running";
    const auto progress = input_.history.number(array_, kProgress);
    return "; it is being rebuilt" + (progress ? ", " + percent(*progress) + " done" : std::string());
  }
  [[nodiscard]] Finding make(std::string_view reason, Health health, const std::string& what) const {
    const std::string name = level_.empty() ? array_.key : array_.key + " (" + level_ + ")";
    Finding finding = make_finding(input_, array_, reason, health, name + " " + what);
    finding.evidence = {
        {"state", state_},         {"missing", number(kMissing)}, {"places", number(kPlaces)},
        {"faulty", word(kFaulty)}, {"syncAction", word(kAction)}, {"witness", std::string(kSysfs)}};
    return finding;
  }

  const JudgeInput& input_;
  const Subject& array_;
  const std::string level_;
  const std::string state_;
};

Findings judge(const JudgeInput& input) {
  Findings findings;
  for (const Subject& array : input.history.subjects(SubjectKind::disk))
    if (auto finding = ArrayJudge(input, array).finding()) findings.push_back(*std::move(finding));
  return findings;
}

}  // namespace
}  // namespace storage_raid

const Check kStorageRaid = {
    .info = {.id = "storage.raid",
             .title = "Software RAID",
             .tags = {"storage", "passive"},
             .period = std::chrono::minutes{1},
             .deadline = std::chrono::seconds{5},
             .window = std::chrono::minutes{10},
             .cost = Cost::cheap,
             .witnesses = {std::string(storage_raid::kSysfs)},
             .rights = {},
             .needs_window = false},
    .observe = storage_raid::observe,
    .judge = storage_raid::judge,
};

}  // namespace autopilot::checks
