// SPDX-License-Identifier: Apache-2.0
#include "host/kubelet/pod_resources.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <string>
#include <utility>

#include "core/parse.hpp"
#include "core/subject.hpp"

namespace autopilot::host {
namespace {

constexpr unsigned kBitsOfByte = 7;
constexpr unsigned kMaxShift = 63;  // ten bytes
constexpr std::uint64_t kMaxNumber = (1U << 29U) - 1;

// The wire type, in the three lowest bits of a field's key.
constexpr std::uint64_t kVarint = 0;
constexpr std::uint64_t kEightBytes = 1;
constexpr std::uint64_t kBytes = 2;
constexpr std::uint64_t kFourBytes = 5;

tl::unexpected<Error> malformed_protobuf(const std::string& what) {
  return fail(Errc::malformed, "protobuf: " + what);
}

}  // namespace

Result<std::optional<ProtobufField>> ProtobufReader::next() {
  if (rest_.empty()) return std::nullopt;
  const std::uint64_t key = TRY(take_number());
  const std::uint64_t number = key >> 3U;
  if (number == 0 || number > kMaxNumber) return malformed_protobuf("field " + std::to_string(number));
  ProtobufField field;
  field.number = static_cast<std::uint32_t>(number);
  switch (key & 7U) {
    case kVarint:
      (void)TRY(take_number());
      return field;
    case kEightBytes:
      (void)TRY(take(8));
      return field;
    case kFourBytes:
      (void)TRY(take(4));
      return field;
    case kBytes: {
      const std::uint64_t size = TRY(take_number());
      field.bytes = TRY(take(size));
      return field;
    }
    default:
      return malformed_protobuf("a group, or an unknown wire type");
  }
}

Result<std::uint64_t> ProtobufReader::take_number() {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift <= kMaxShift; shift += kBitsOfByte) {
    if (rest_.empty()) return malformed_protobuf("cut off");
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    // Only one bit of the tenth byte fits.
    if (shift == kMaxShift && byte > 1) break;
    number |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return number;
  }
  return malformed_protobuf("a number beyond 64 bits");
}

Result<std::string_view> ProtobufReader::take(std::uint64_t size) {
  if (size > rest_.size()) return malformed_protobuf("cut off");
  const std::string_view bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return bytes;
}

namespace {

// Numbers of fields in k8s.io/kubelet/pkg/apis/podresources/v1/api.proto.
namespace field {
constexpr std::uint32_t kPods = 1;
constexpr std::uint32_t kPodName = 1;
constexpr std::uint32_t kPodNamespace = 2;
constexpr std::uint32_t kPodContainers = 3;
constexpr std::uint32_t kContainerName = 1;
constexpr std::uint32_t kContainerDevices = 2;
constexpr std::uint32_t kContainerClaims = 5;
constexpr std::uint32_t kDevicesResource = 1;
constexpr std::uint32_t kDevicesIds = 2;
constexpr std::uint32_t kClaimResources = 4;
constexpr std::uint32_t kClaimDriver = 2;
constexpr std::uint32_t kClaimDevice = 4;
}  // namespace field

// Calls visit(number, bytes) for every text or message field.
template <class Visit>
Status for_each_field(std::string_view message, Visit visit) {
  ProtobufReader reader(message);
  while (const auto field = TRY(reader.next()))
    if (field->bytes) TRY_STATUS(visit(field->number, *field->bytes));
  return {};
}

class PodResourcesParser {
 public:
  Result<PodResources> parse(std::string_view message) {
    TRY_STATUS(for_each_field(message, [this](std::uint32_t number, std::string_view bytes) -> Status {
      return number == field::kPods ? add_pod(bytes) : Status{};
    }));
    return std::move(resources_);
  }

 private:
  // The fields of a message may come in any order, so the names are read first and the nested messages after
  // them.
  Status add_pod(std::string_view message) {
    if (++pods_ > PodResources::kMaxPods)
      return fail(Errc::exhausted,
                  "the kubelet lists more than " + std::to_string(PodResources::kMaxPods) + " pods");
    HeldDevices held;
    TRY_STATUS(for_each_field(message, [&](std::uint32_t number, std::string_view bytes) -> Status {
      if (number == field::kPodName) held.pod = bytes;
      if (number == field::kPodNamespace) held.pod_namespace = bytes;
      return {};
    }));
    if (!PodResources::is_name(held.pod) || !PodResources::is_name(held.pod_namespace))
      return fail(Errc::malformed, "the kubelet lists a pod without a name");
    return for_each_field(message, [&](std::uint32_t number, std::string_view bytes) -> Status {
      return number == field::kPodContainers ? add_container(held, bytes) : Status{};
    });
  }

  Status add_container(HeldDevices held, std::string_view message) {
    TRY_STATUS(for_each_field(message, [&](std::uint32_t number, std::string_view bytes) -> Status {
      if (number == field::kContainerName) held.container = bytes;
      return {};
    }));
    if (!PodResources::is_name(held.container))
      return fail(Errc::malformed, "the kubelet lists a container without a name");
    const std::size_t first = resources_.held.size();
    return for_each_field(message, [&](std::uint32_t number, std::string_view bytes) -> Status {
      if (number == field::kContainerDevices) return add_devices(held, first, bytes);
      return number == field::kContainerClaims ? add_claim(held, first, bytes) : Status{};
    });
  }

  Status add_devices(const HeldDevices& held, std::size_t first, std::string_view message) {
    std::string_view resource;
    TRY_STATUS(for_each_field(message, [&](std::uint32_t number, std::string_view bytes) -> Status {
      if (number == field::kDevicesResource) resource = bytes;
      return {};
    }));
    return for_each_field(message, [&](std::uint32_t number, std::string_view bytes) -> Status {
      if (number == field::kDevicesIds) add_device(held, first, resource, bytes);
      return {};
    });
  }

  Status add_claim(const HeldDevices& held, std::size_t first, std::string_view message) {
    return for_each_field(message, [&](std::uint32_t number, std::string_view bytes) -> Status {
      if (number != field::kClaimResources) return {};
      std::string_view driver;
      std::string_view device;
      TRY_STATUS(for_each_field(bytes, [&](std::uint32_t part, std::string_view text) -> Status {
        if (part == field::kClaimDriver) driver = text;
        if (part == field::kClaimDevice) device = text;
        return {};
      }));
      // A claim may have no device.
      if (!device.empty()) add_device(held, first, driver, device);
      return {};
    });
  }

  // Joins consecutive entries of one resource: the kubelet lists the devices of each NUMA node separately.
  void add_device(const HeldDevices& held, std::size_t first, std::string_view resource,
                  std::string_view id) {
    auto& all = resources_.held;
    const bool goes_on = all.size() > first && all.back().resource == resource;
    if (!PodResources::is_name(resource) || !PodResources::is_name(id) || ids_ == PodResources::kMaxIds ||
        (!goes_on && all.size() == PodResources::kMaxHeld)) {
      ++resources_.left_out;
      return;
    }
    if (!goes_on) {
      all.push_back(held);
      all.back().resource = resource;
    }
    all.back().ids.emplace_back(id);
    ++ids_;
  }

  PodResources resources_;
  std::size_t pods_ = 0;
  std::size_t ids_ = 0;
};

}  // namespace

bool PodResources::is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\'; });
}

Result<PodResources> parse_pod_resources(std::string_view message) {
  return PodResourcesParser().parse(message);
}

namespace {

namespace json = boost::json;

// Leaves room in a frame of 1 MiB for the members around the answer.
constexpr std::size_t kMaxText = std::size_t{1000} << 10U;
constexpr std::size_t kMembersSize = 128;  // names of members, quotes, commas

tl::unexpected<Error> malformed_answer(const std::string& what) {
  return fail(Errc::malformed, "kubelet helper's answer: " + what);
}

std::size_t size_of(const HeldDevices& held) {
  std::size_t size = kMembersSize + held.pod_namespace.size() + held.pod.size() + held.container.size() +
                     held.resource.size();
  for (const std::string& id : held.ids)
    size += id.size() + 3;
  return size;
}

json::object json_of(const HeldDevices& held) {
  return {{"namespace", held.pod_namespace},
          {"pod", held.pod},
          {"container", held.container},
          {"resource", held.resource},
          {"ids", json::array(held.ids.begin(), held.ids.end())}};
}

Result<std::string> answer_text(const json::value& value) {
  const json::string* text = value.if_string();
  if (text == nullptr || !PodResources::is_name(*text)) return malformed_answer("expected a name");
  return std::string(*text);
}

Result<std::string> member(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return malformed_answer(std::string(name) + " is missing");
  return answer_text(*value);
}

Result<HeldDevices> held_of(const json::value& value) {
  const json::object* object = value.if_object();
  if (object == nullptr) return malformed_answer("expected an object");
  HeldDevices held;
  held.pod_namespace = TRY(member(*object, "namespace"));
  held.pod = TRY(member(*object, "pod"));
  held.container = TRY(member(*object, "container"));
  held.resource = TRY(member(*object, "resource"));
  const json::value* ids = object->if_contains("ids");
  if (ids == nullptr || !ids->is_array() || ids->get_array().size() > PodResources::kMaxIds)
    return malformed_answer("ids is not a list");
  for (const json::value& id : ids->get_array())
    held.ids.push_back(TRY(answer_text(id)));
  return held;
}

}  // namespace

std::string format_pod_resources(const PodResources& resources) {
  json::array held;
  std::size_t size = kMembersSize;
  std::size_t left_out = resources.left_out;
  for (const HeldDevices& one : resources.held) {
    const std::size_t more = size_of(one);
    if (size + more > kMaxText) {
      left_out += one.ids.size();
      continue;
    }
    size += more;
    held.push_back(json_of(one));
  }
  return json::serialize(json::object{{"held", std::move(held)}, {"leftOut", left_out}});
}

Result<PodResources> parse_pod_resources_answer(std::string_view text) {
  boost::system::error_code error;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  if (error || !value.is_object()) return malformed_answer("not an object");
  const json::object& object = value.get_object();
  const json::value* held = object.if_contains("held");
  const json::value* left_out = object.if_contains("leftOut");
  if (held == nullptr || !held->is_array() || held->get_array().size() > PodResources::kMaxHeld)
    return malformed_answer("held is not a list");
  PodResources resources;
  if (left_out != nullptr) resources.left_out = left_out->to_number<std::size_t>(error);
  constexpr std::size_t kMostLeftOut = 1'000'000'000;
  if (left_out == nullptr || error || resources.left_out > kMostLeftOut)
    return malformed_answer("leftOut is not a number");
  for (const json::value& one : held->get_array())
    resources.held.push_back(TRY(held_of(one)));
  return resources;
}

namespace {

constexpr std::string_view kUuid = "GPU-";
constexpr std::string_view kInstance = "MIG-";
constexpr std::string_view kNvidiaClaims = "gpu.nvidia.com";

// Removes the suffix of a replica: "::N" of NVIDIA's plugin, "-slice-N" of AMD's.
std::string_view without_replica(std::string_view id) {
  id = id.substr(0, id.find("::"));
  return id.substr(0, id.find("-slice-"));
}

// "12" of "12/gi0" or "12-mig-9-4-4"; empty if the text before the separator is not a number.
std::optional<int> leading_number(std::string_view text, char separator) {
  return parse_number<int>(text.substr(0, text.find(separator)));
}

// "MIG-<uuid>", or, from drivers before 470, "MIG-GPU-<uuid>/<instance>/<part>".
NamedGpu instance_named_by(std::string_view id) {
  NamedGpu named;
  const std::string_view rest = id.substr(kInstance.size());
  if (rest.starts_with(kUuid)) {
    named.uuid = rest.substr(0, rest.find('/'));
  } else {
    named.instance_uuid = id;
  }
  return named;
}

std::optional<NamedGpu> of_minor(std::optional<int> minor) {
  if (!minor || *minor < 0) return std::nullopt;
  NamedGpu named;
  named.minor = minor;
  return named;
}

}  // namespace

std::optional<NamedGpu> gpu_named_by(std::string_view resource, std::string_view id) {
  id = without_replica(id);
  if (id.starts_with(kInstance)) return instance_named_by(id);
  NamedGpu named;
  if (id.starts_with(kUuid)) {
    named.uuid = id;
    return named;
  }
  // "gpu-0", "gpu-0-mig-9-4-4"; the numbers of "gpu-vfio-0" have another meaning.
  if (resource == kNvidiaClaims)
    return id.starts_with("gpu-") ? of_minor(leading_number(id.substr(4), '-')) : std::nullopt;
  // "nvidia0", "nvidia0/gi0", "nvidia0/vgpu0"
  if (id.starts_with("nvidia")) return of_minor(leading_number(id.substr(6), '/'));
  // Only a full address with its domain: other plugins use ids such as "0:1".
  const auto address = canonical_pci_address(id);
  if (!address || *address != to_lower(id)) return std::nullopt;
  named.pci_address = *address;
  return named;
}

namespace {

class NoKubelet final : public Kubelet {
 public:
  [[nodiscard]] Result<PodResources> pod_resources(MonoTime) const override {
    return fail(Errc::not_found, "no kubelet");
  }
};

}  // namespace

const Kubelet& Kubelet::none() {
  static const NoKubelet none;
  return none;
}

}  // namespace autopilot::host
