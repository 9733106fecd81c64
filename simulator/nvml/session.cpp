// SPDX-License-Identifier: Apache-2.0
#include "nvml/session.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/stat.h>
#include <thread>

#include "core/yaml.hpp"
#include "host/files/tree_file.hpp"

namespace autopilot::simulator::nvml {
namespace {

using namespace std::chrono_literals;

constexpr auto kHangPoll = 20ms;
constexpr const char* kVariable = "AUTOPILOT_SIM_MACHINE";

void say(const std::string& text) {
  std::fprintf(stderr, "libnvidia-ml-sim: %s\n", text.c_str());
}

}  // namespace

Session& Session::instance() {
  static Session session;
  return session;
}

std::shared_ptr<const DriverModel> Session::refresh() {
  const std::scoped_lock lock(mutex_);
  const char* directory = std::getenv(kVariable);
  if (directory == nullptr) {
    say(std::string(kVariable) + " is not set");
    return nullptr;
  }
  const std::string path = std::string(directory) + "/nvml.yaml";
  const std::string live_path = std::string(directory) + "/gpu_readings.txt";
  const Version driver = version_of(path);
  if (driver == Version{}) return model_ = nullptr;
  const Version live = version_of(live_path);
  if (model_ != nullptr && driver == driver_version_ && live == live_version_) return model_;
  if (driver_ == nullptr || driver != driver_version_) {
    const auto text = host::read_tree_file(path, kMaxYamlBytes);
    auto model = text ? parse_driver_model(*text, path) : fail(text.error());
    if (!model) {
      say(model.error().what);
      return model_;
    }
    driver_ = std::make_shared<const DriverModel>(*std::move(model));
    driver_version_ = driver;
  }
  model_ = live == Version{} ? driver_ : with_live_readings(live_path);
  live_version_ = live;
  return model_;
}

Session::Version Session::version_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_ino, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

std::shared_ptr<const DriverModel> Session::with_live_readings(const std::string& path) const {
  const auto text = host::read_tree_file(path, kMaxYamlBytes);
  auto model = std::make_shared<DriverModel>(*driver_);
  const Status applied = text ? apply_live_readings(*text, *model) : fail(text.error());
  if (applied) return model;
  say(path + ": " + applied.error().what);
  return driver_;
}

std::uint64_t Session::moved_bytes(const std::string& address, std::string_view link, double bytes_s) {
  const auto now = std::chrono::steady_clock::now();
  const auto [found, is_new] = moved_.try_emplace({address, std::string(link)}, Moved{now, 0});
  Moved& moved = found->second;
  moved.bytes += bytes_s * std::chrono::duration<double>(now - moved.asked).count();
  moved.asked = now;
  return static_cast<std::uint64_t>(moved.bytes);
}

abi::Return Session::enter(const char* function) {
  for (;;) {
    const auto model = refresh();
    if (model == nullptr) return abi::kLibraryNotFound;
    auto found = model->functions.find(std::string_view(function));
    if (found == model->functions.end()) found = model->functions.find("*");
    if (found == model->functions.end()) return abi::kSuccess;
    if (const int* code = std::get_if<int>(&found->second)) return *code;
    switch (std::get<Misbehaviour>(found->second)) {
      case Misbehaviour::hang:
        std::this_thread::sleep_for(kHangPoll);
        break;
      case Misbehaviour::abort:
        std::abort();
      case Misbehaviour::segfault:
        std::signal(SIGSEGV, SIG_DFL);
        std::raise(SIGSEGV);
    }
  }
}

abi::Return Session::init() {
  const std::scoped_lock lock(mutex_);
  const auto model = refresh();
  if (model == nullptr) return abi::kLibraryNotFound;
  if (model->init != 0) return model->init;
  if (initialised_++ > 0) return abi::kSuccess;
  visible_.clear();
  for (const GpuModelState& gpu : model->gpus)
    if (gpu.state != abi::kGpuIsLost) visible_.push_back(handle(gpu.address));
  return abi::kSuccess;
}

abi::Return Session::shutdown() {
  const std::scoped_lock lock(mutex_);
  if (initialised_ == 0) return abi::kUninitialized;
  --initialised_;
  return abi::kSuccess;
}

abi::Device Session::handle(const std::string& address, std::optional<std::size_t> instance) {
  for (const auto& known : handles_)
    if (known->address == address && known->instance == instance) return known.get();
  return handles_.emplace_back(std::make_unique<nvmlDevice_st>(nvmlDevice_st{address, instance})).get();
}

abi::Return Session::with_driver(const char* function, const Body& body) {
  if (const abi::Return code = enter(function); code != abi::kSuccess) return code;
  const std::scoped_lock lock(mutex_);
  if (initialised_ == 0) return abi::kUninitialized;
  const auto model = refresh();
  return model == nullptr ? abi::kLibraryNotFound : body(*model);
}

abi::Return Session::with_gpu(const char* function, abi::Device device, const GpuBody& body) {
  return with_driver(function, [&](const DriverModel& model) {
    for (const auto& known : handles_) {
      if (known.get() != device) continue;
      const GpuModelState* gpu = model.find(known->address);
      if (gpu == nullptr) return abi::kGpuIsLost;
      return gpu->state == abi::kSuccess ? body(*gpu) : gpu->state;
    }
    return abi::kInvalidArgument;
  });
}

abi::Return Session::with_instance(const char* function, abi::Device device, const InstanceBody& body) {
  return with_gpu(function, device, [&](const GpuModelState& gpu) {
    if (!device->instance) return abi::kInvalidArgument;
    const InstanceState* instance = gpu.instance(*device->instance);
    return instance == nullptr ? abi::kNotFound : body(*instance);
  });
}

}  // namespace autopilot::simulator::nvml
