// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/helper_gpus.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <limits>
#include <set>
#include <utility>

#include "core/parse.hpp"
#include "host/files/fd.hpp"
#include "host/gpu/helper_answer.hpp"
#include "host/gpu/nvml_abi.h"
#include "host/gpu/readings.hpp"
#include "host/pci/pci.hpp"

namespace autopilot::host {
namespace {

std::string_view kind_of(GpuVendor vendor) {
  return vendor == GpuVendor::amd ? "amdgpu" : "nvml";
}

// The state of the driver that a failed call shows; an error if the call failed for another reason.
Result<GpuReport> report_of(const HelperError& error) {
  GpuReport report;
  report.detail = error.error.what;
  switch (error.failure) {
    case HelperFailure::timed_out:
      report.state = DriverState::unresponsive;
      return report;
    case HelperFailure::crashed:
    case HelperFailure::malformed:
      report.state = DriverState::crashed;
      return report;
    case HelperFailure::exhausted:
      report.state = DriverState::exhausted;
      return report;
    case HelperFailure::refused:
    case HelperFailure::not_started:
      break;
  }
  return fail(error.error);
}

// The helper may hang: calling it again at once would cost the next caller its whole deadline.
bool is_worth_a_pause(DriverState state) {
  return state == DriverState::unresponsive || state == DriverState::crashed ||
         state == DriverState::exhausted;
}

bool is_worth_a_pause(const Result<GpuReport>& answer) {
  return answer && is_worth_a_pause(answer->state);
}

// The shared answer may contain more groups.
void keep_only(const std::set<GpuGroup>& groups, GpuReport& report) {
  for (GpuDevice& gpu : report.gpus)
    std::erase_if(gpu.readings, [&groups](const GpuReading& reading) {
      const ReadingInfo* info = find_reading(reading.name);
      return info != nullptr && !comes_with(*info, groups);
    });
}

}  // namespace

HelperGpus::HelperGpus(GpuVendor vendor, Command command, const Clock& clock, GpuScan scan,
                       HelperLimits limits)
    : vendor_(vendor),
      client_(std::string(kind_of(vendor)), std::move(command), limits),
      clock_(clock),
      scan_(std::move(scan)) {}

Result<GpuReport> HelperGpus::read(const std::vector<GpuGroup>& groups, MonoTime deadline) const {
  const std::set<GpuGroup> wanted(groups.begin(), groups.end());
  const MonoTime until = process_time(deadline);
  std::unique_lock lock(mutex_);
  while (true) {
    if (auto shared = shared_answer(wanted)) return std::move(*shared);
    if (!is_asking_) break;
    if (answered_.wait_until(lock, until) == std::cv_status::timeout && is_asking_) {
      GpuReport report;
      report.state = DriverState::unresponsive;
      report.detail = "the driver has not answered the request of another caller";
      report.time = clock_.now();
      return report;
    }
  }
  is_asking_ = true;
  lock.unlock();
  Result<GpuReport> answer = ask(wanted, until);
  if (answer) answer->time = clock_.now();
  lock.lock();
  is_asking_ = false;
  if (answer) driver_calls_ += answer->calls;
  last_ = answer;
  last_groups_ = wanted;
  last_time_ = clock_.now().mono;
  lock.unlock();
  answered_.notify_all();
  return answer;
}

std::optional<Result<GpuReport>> HelperGpus::shared_answer(const std::set<GpuGroup>& groups) const {
  if (!last_) return std::nullopt;
  const Duration age = clock_.now().mono - last_time_;
  const bool is_pause = is_worth_a_pause(*last_) && age < kPause;
  const bool is_same = *last_ && age < kShared &&
                       std::includes(last_groups_.begin(), last_groups_.end(), groups.begin(), groups.end());
  if (!is_pause && !is_same) return std::nullopt;
  Result<GpuReport> answer = *last_;
  if (!answer) return answer;
  answer->calls = 0;  // counted in the answer to the first caller
  keep_only(groups, *answer);
  return answer;
}

Result<GpuReport> HelperGpus::ask(const std::set<GpuGroup>& groups, MonoTime deadline) const {
  GpuQuestion question;
  question.groups.assign(groups.begin(), groups.end());
  if (const auto known = scan_.gpus(vendor_))
    for (const PciDevice& gpu : *known)
      question.addresses.push_back(gpu.address);
  const HelperResult answer = client_.call("read", format_gpu_question(question), deadline);
  if (!answer) return report_of(answer.error());
  Result<GpuReport> report = parse_gpu_report(*answer);
  if (report) return report;
  GpuReport crashed;
  crashed.state = DriverState::crashed;
  crashed.detail = report.error().what;
  return crashed;
}

Result<std::vector<GpuEvent>> HelperGpus::take_events(MonoTime deadline) const {
  {
    const std::lock_guard lock(mutex_);
    if (last_ && is_worth_a_pause(*last_) && clock_.now().mono - last_time_ < kPause)
      return fail(Errc::unavailable, "the driver is " + std::string(to_string((*last_)->state)));
  }
  const HelperResult answer = client_.call("events", "{}", process_time(deadline));
  if (!answer) return fail(answer.error().error);
  return parse_gpu_events(*answer, clock_.now());
}

std::optional<DriverState> HelperGpus::paused_state() const {
  const std::lock_guard lock(mutex_);
  const MonoTime now = clock_.now().mono;
  if (last_ && is_worth_a_pause(*last_) && now - last_time_ < kPause) return (*last_)->state;
  if (is_worth_a_pause(telemetry_state_) && now - telemetry_time_ < kPause) return telemetry_state_;
  return std::nullopt;
}

void HelperGpus::note(const GpuTelemetry& telemetry) const {
  const std::lock_guard lock(mutex_);
  // The request of another caller takes long: the driver works.
  if (telemetry.state == DriverState::unresponsive && is_asking_) return;
  telemetry_state_ = telemetry.state;
  telemetry_time_ = clock_.now().mono;
  driver_calls_ += telemetry.calls;
}

Result<GpuTelemetry> HelperGpus::read_telemetry(TelemetryDetail detail, MonoTime deadline) const {
  if (vendor_ != GpuVendor::nvidia) return Gpus::read_telemetry(detail, deadline);
  GpuTelemetry telemetry;
  if (const auto paused = paused_state()) {
    telemetry.state = *paused;
    telemetry.detail = "the driver is not called again yet";
    return telemetry;
  }
  const HelperResult answer =
      client_.call("telemetry", format_telemetry_request(detail), process_time(deadline));
  if (!answer) {
    // A helper of an earlier release.
    if (answer.error().failure == HelperFailure::refused && answer.error().error.code == Errc::unsupported)
      return Gpus::read_telemetry(detail, deadline);
    telemetry = telemetry_of(TRY(report_of(answer.error())));
  } else if (auto parsed = parse_gpu_telemetry(*answer)) {
    telemetry = std::move(*parsed);
  } else {
    telemetry.state = DriverState::crashed;
    telemetry.detail = parsed.error().what;
  }
  note(telemetry);
  return telemetry;
}

std::uint64_t HelperGpus::driver_calls() const {
  const std::lock_guard lock(mutex_);
  return driver_calls_;
}

MonoTime HelperGpus::process_time(MonoTime deadline) const {
  return mono_now() + (deadline - clock_.now().mono);
}

namespace {

namespace json = boost::json;

constexpr std::size_t kMaxGpus = 128;
constexpr std::size_t kMaxReadings = 1024;  // of one GPU
constexpr std::size_t kMaxEvents = 4096;
constexpr std::int64_t kMaxAge = 86'400'000;  // milliseconds

// ---- writing

json::value json_of(const std::optional<Value>& value) {
  if (!value) return nullptr;
  return std::visit([](const auto& held) -> json::value { return json::value(held); }, *value);
}

json::array json_of(const std::vector<GpuInstance>& instances) {
  json::array list;
  for (const GpuInstance& instance : instances)
    list.push_back(json::array{instance.gpu_instance, instance.compute_instance, presentable(instance.uuid)});
  return list;
}

json::object json_of(const GpuDevice& gpu) {
  json::array readings;
  for (const GpuReading& reading : gpu.readings) {
    json::value link = nullptr;
    if (reading.link) link = *reading.link;
    readings.push_back(json::array{reading.name, std::move(link), json_of(reading.value), reading.code});
  }
  json::object object{{"address", gpu.subject.key},
                      {"uuid", presentable(gpu.subject.uuid)},
                      {"serial", presentable(gpu.subject.serial)},
                      {"name", presentable(gpu.name)},
                      {"state", to_string(gpu.state)},
                      {"readings", std::move(readings)}};
  if (gpu.subject.index) object["index"] = *gpu.subject.index;
  if (!gpu.instances.empty()) object["instances"] = json_of(gpu.instances);
  return object;
}

// ---- reading

std::int64_t milliseconds(Duration duration) {
  const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return std::clamp<std::int64_t>(count, 0, kMaxAge);
}

Result<std::optional<Value>> reading_value_of(const json::value& value, std::string_view name) {
  switch (value.kind()) {
    case json::kind::null:
      return std::nullopt;
    case json::kind::bool_:
      return Value{value.as_bool()};
    case json::kind::int64:
      return Value{std::int64_t{value.as_int64()}};
    case json::kind::double_:
      return Value{value.as_double()};
    case json::kind::string:
      return Value{TRY(answer_text(value, name))};
    default:
      return malformed_answer(std::string(name) + " has a value of an unknown type");
  }
}

// "0000:3b:00.0" as the kernel spells it, or "index-3" for a GPU whose address the driver does not report.
bool is_gpu_key(std::string_view key) {
  if (const auto canonical = canonical_pci_address(key)) return *canonical == key;
  constexpr std::string_view kIndex = "index-";
  return key.starts_with(kIndex) && key.size() > kIndex.size() && key.size() <= kIndex.size() + 3 &&
         std::all_of(key.begin() + kIndex.size(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Result<GpuReading> reading_of(const json::value& value) {
  if (!value.is_array() || value.as_array().size() != 4)
    return malformed_answer("a reading is not a list of four");
  const json::array& parts = value.as_array();
  GpuReading reading;
  reading.name = TRY(answer_text(parts[0], "name of a reading"));
  const ReadingInfo* info = find_reading(reading.name);
  if (info == nullptr) return malformed_answer("unknown reading " + reading.name);
  if (info->per_link == parts[1].is_null())
    return malformed_answer(reading.name + ": unexpected or missing link");
  if (info->per_link)
    reading.link = static_cast<int>(TRY(answer_integer(parts[1], "link", 0, nvml::kNvLinkMaxLinks - 1)));
  reading.value = TRY(reading_value_of(parts[2], reading.name));
  reading.code = static_cast<int>(TRY(answer_integer(parts[3], "code", reading_code::kUnreadable, 100000)));
  if (reading.value.has_value() != (reading.code == nvml::kSuccess))
    return malformed_answer(reading.name + ": value and code " + std::to_string(reading.code) +
                            " contradict");
  return reading;
}

Result<GpuInstance> instance_of(const json::value& value) {
  constexpr std::size_t kParts = 3;
  constexpr std::int64_t kHighestId = 1023;
  const json::array* parts = value.if_array();
  if (parts == nullptr || parts->size() != kParts)
    return malformed_answer("an instance is not a list of three");
  GpuInstance instance;
  instance.gpu_instance = static_cast<int>(TRY(answer_integer((*parts)[0], "GPU instance", 0, kHighestId)));
  instance.compute_instance =
      static_cast<int>(TRY(answer_integer((*parts)[1], "compute instance", 0, kHighestId)));
  instance.uuid = TRY(answer_text((*parts)[2], "UUID of an instance"));
  return instance;
}

Result<GpuDevice> device_of(const json::value& value) {
  if (!value.is_object()) return malformed_answer("a GPU is not an object");
  const json::object& object = value.as_object();
  GpuDevice gpu;
  gpu.subject.kind = SubjectKind::gpu;
  gpu.subject.key = TRY(text_member(object, "address"));
  if (!is_gpu_key(gpu.subject.key)) return malformed_answer("not a PCI address: " + gpu.subject.key);
  gpu.subject.uuid = TRY(text_member(object, "uuid"));
  gpu.subject.serial = TRY(text_member(object, "serial"));
  gpu.name = TRY(text_member(object, "name"));
  if (const json::value* index = object.if_contains("index"))
    gpu.subject.index = static_cast<int>(TRY(answer_integer(*index, "index", 0, 1023)));
  const std::string state = TRY(text_member(object, "state"));
  const auto known = parse_gpu_state(state);
  if (!known) return malformed_answer("unknown state of a GPU " + state);
  gpu.state = *known;
  for (const json::value& reading : *TRY(array_member(object, "readings", kMaxReadings)))
    gpu.readings.push_back(TRY(reading_of(reading)));
  if (object.contains("instances"))
    for (const json::value& instance : *TRY(array_member(object, "instances", GpuInstance::kMost)))
      gpu.instances.push_back(TRY(instance_of(instance)));
  return gpu;
}

Status refuse_duplicates(const std::vector<GpuDevice>& gpus) {
  std::set<std::string_view> keys;
  for (const GpuDevice& gpu : gpus) {
    if (!keys.insert(gpu.subject.key).second) return malformed_answer(gpu.subject.key + " appears twice");
    std::set<std::pair<std::string_view, int>> names;
    for (const GpuReading& reading : gpu.readings)
      if (!names.emplace(reading.name, reading.link.value_or(-1)).second)
        return malformed_answer(gpu.subject.key + ": " + reading.name + " appears twice");
  }
  return {};
}

}  // namespace

std::string format_gpu_report(const GpuReport& report) {
  json::array gpus;
  for (const GpuDevice& gpu : report.gpus)
    gpus.push_back(json_of(gpu));
  return json::serialize(json::object{{"state", to_string(report.state)},
                                      {"detail", presentable(report.detail)},
                                      {"libraryPath", presentable(report.library_path)},
                                      {"driverVersion", presentable(report.driver_version)},
                                      {"nvmlVersion", presentable(report.nvml_version)},
                                      {"cudaVersion", presentable(report.cuda_version)},
                                      {"calls", report.calls},
                                      {"gpus", std::move(gpus)}});
}

Result<GpuReport> parse_gpu_report(std::string_view text) {
  const json::object object = TRY(parse_answer_object(text));
  GpuReport report;
  const std::string state = TRY(text_member(object, "state"));
  const auto known = parse_driver_state(state);
  if (!known) return malformed_answer("no state of the driver is called " + state);
  report.state = *known;
  report.detail = TRY(text_member(object, "detail"));
  report.library_path = TRY(text_member(object, "libraryPath"));
  report.driver_version = TRY(text_member(object, "driverVersion"));
  report.nvml_version = TRY(text_member(object, "nvmlVersion"));
  report.cuda_version = TRY(text_member(object, "cudaVersion"));
  const json::value* calls = object.if_contains("calls");
  if (calls == nullptr) return malformed_answer("calls is missing");
  report.calls = static_cast<std::uint64_t>(TRY(answer_integer(*calls, "calls", 0, 1'000'000)));
  for (const json::value& gpu : *TRY(array_member(object, "gpus", kMaxGpus)))
    report.gpus.push_back(TRY(device_of(gpu)));
  TRY_STATUS(refuse_duplicates(report.gpus));
  return report;
}

std::string format_gpu_events(const std::vector<GpuEvent>& events, Instant now) {
  json::array list;
  for (const GpuEvent& event : events)
    list.push_back(json::object{{"address", event.subject.key},
                                {"code", event.code},
                                {"ago", milliseconds(now.mono - event.time.mono)},
                                {"late", milliseconds(event.late)}});
  return json::serialize(json::object{{"events", std::move(list)}});
}

Result<std::vector<GpuEvent>> parse_gpu_events(std::string_view text, Instant now) {
  const json::object object = TRY(parse_answer_object(text));
  std::vector<GpuEvent> events;
  for (const json::value& value : *TRY(array_member(object, "events", kMaxEvents))) {
    if (!value.is_object()) return malformed_answer("an event is not an object");
    const json::object& item = value.as_object();
    GpuEvent event;
    event.subject.kind = SubjectKind::gpu;
    event.subject.key = TRY(text_member(item, "address"));
    if (!is_gpu_key(event.subject.key)) return malformed_answer("not a PCI address: " + event.subject.key);
    const json::value* code = item.if_contains("code");
    if (code == nullptr) return malformed_answer("code is missing");
    event.code = static_cast<std::uint32_t>(
        TRY(answer_integer(*code, "code", 0, std::numeric_limits<std::uint32_t>::max())));
    const std::chrono::milliseconds ago{TRY(integer_member(item, "ago", kMaxAge))};
    event.time = {now.wall - ago, now.mono - ago};
    event.late = std::chrono::milliseconds{TRY(integer_member(item, "late", kMaxAge))};
    events.push_back(std::move(event));
  }
  return events;
}

std::string format_gpu_question(const GpuQuestion& question) {
  json::array groups;
  for (const GpuGroup group : question.groups)
    groups.push_back(json::value(to_string(group)));
  json::array addresses;
  for (const std::string& address : question.addresses)
    addresses.push_back(json::value(address));
  return json::serialize(json::object{{"groups", std::move(groups)}, {"addresses", std::move(addresses)}});
}

Result<GpuQuestion> parse_gpu_question(std::string_view text) {
  const json::object object = TRY(parse_answer_object(text));
  GpuQuestion question;
  for (const json::value& value : *TRY(array_member(object, "groups", 64))) {
    const std::string word = TRY(answer_text(value, "group"));
    const auto group = parse_gpu_group(word);
    if (!group) return malformed_answer("unknown group " + word);
    question.groups.push_back(*group);
  }
  for (const json::value& value : *TRY(array_member(object, "addresses", kMaxGpus))) {
    std::string address = TRY(answer_text(value, "address"));
    if (!is_gpu_key(address)) return malformed_answer("not a PCI address: " + address);
    question.addresses.push_back(std::move(address));
  }
  return question;
}

}  // namespace autopilot::host
