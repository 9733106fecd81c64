// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/all_reduce_worker.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "probes/gpu/nccl/all_reduce.hpp"
#include "probes/gpu/nccl/communicator.hpp"
#include "probes/gpu/sensors/sensors.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr std::chrono::seconds kGivenBack{3};
constexpr std::chrono::milliseconds kRetryInterval{500};

class Worker {
 public:
  Worker(const AllReduceOptions& options, const std::function<void(const std::string&)>& invite,
         AllReduceSlot& slot)
      : options_(options), invite_(invite), slot_(slot) {}

  Status run() {
    begin(Stage::driver);
    TRY_STATUS(check_is_built_in(options_.vendor));
    if (is_amd()) wait_for_idle_gpus();
    TRY_STATUS(open_driver());
    TRY_STATUS(check_ranks());
    begin(Stage::guard);
    TRY_STATUS(check_use());
    begin(Stage::library);
    TRY_STATUS(open_nccl());
    begin(Stage::memory);
    TRY_STATUS(take_memory());
    begin(Stage::joining);
    const nccl::UniqueId id = TRY(agree_on_id());
    const auto communicator = TRY(join(id));
    begin(Stage::measuring);
    measure(*communicator);
    return {};
  }

  // NCCL's message has precedence over errors that follow from it.
  [[nodiscard]] Failure failure_of_error(const Error& error) const {
    const auto error_of_nccl = nccl_ ? nccl_->error() : std::nullopt;
    return error_of_nccl ? failure_of(slot_.stage, *error_of_nccl, options_.vendor)
                         : failure_of(slot_.stage, error, options_.vendor);
  }

 private:
  void begin(Stage stage) { slot_.stage = stage; }
  [[nodiscard]] bool is_amd() const { return options_.vendor == Vendor::amd; }

  // After HIP is opened, this process is among the users of the GPUs, in a container under an unknown pid. A
  // process that has ended remains a user until its memory is released, which takes a moment after a test:
  // therefore this runs before, with a wait.
  void wait_for_idle_gpus() {
    if (options_.beside_others) return;
    const auto end = std::chrono::steady_clock::now() + kGivenBack;
    read_use();
    if (is_any_used()) std::fprintf(stderr, "GPUs are in use; waiting for some seconds\n");
    while (is_any_used() && !slot_.watch.stop && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(kRetryInterval);
      read_use();
    }
  }
  void read_use() {
    const InCall in_call(slot_.watch, "KFD");
    amd_use_ = host::read_kfd_processes(host::Files(options_.root));
  }
  [[nodiscard]] bool is_any_used() const {
    return amd_use_ &&
           std::ranges::any_of(amd_use_->by_gpu, [](const auto& gpu) { return !gpu.second.empty(); });
  }

  Status open_driver() {
    {
      const InCall in_call(slot_.watch, "dlopen");
      auto opened =
          TRY(options_.library ? Library::open(*options_.library, options_.vendor)
                               : Library::open_first(driver_libraries(options_.vendor), options_.vendor));
      library_ = std::make_unique<Library>(opened);
    }
    note_simulated(library_->is_simulated());
    driver_ = std::make_unique<Driver>(*library_, slot_.watch);
    const auto all = TRY(list_gpus(*driver_));
    gpus_ = TRY(choose_gpus(all, options_.gpus));
    const std::size_t count = options_.count ? static_cast<std::size_t>(*options_.count) : gpus_.size();
    if (gpus_.size() < count)
      return fail(Errc::not_found, "the driver lists only " + std::to_string(gpus_.size()) + " GPUs of " +
                                       std::to_string(count) + " requested");
    gpus_.resize(count);
    slot_.change([&](AllReduceReport& report) { report.gpus = static_cast<int>(gpus_.size()); });
    return {};
  }

  void note_simulated(bool is_simulated) {
    if (is_simulated) slot_.change([](AllReduceReport& report) { report.simulated = true; });
  }

  Status check_ranks() {
    const int room = options_.ranks - options_.first;
    if (gpus_.size() <= static_cast<std::size_t>(room)) return {};
    slot_.is_usage = true;
    return fail(Errc::malformed, "--ranks: " + std::to_string(gpus_.size()) + " GPUs from rank " +
                                     std::to_string(options_.first) + " exceed " +
                                     std::to_string(options_.ranks) + " ranks; reduce --count");
  }

  Status check_use() {
    if (options_.beside_others) return {};
    return is_amd() ? check_use_by_kfd() : check_use_by_nvml();
  }

  Status check_use_by_kfd() {
    if (!amd_use_ && !options_.require_idle) warn_unknown_users(amd_use_.error());
    for (const GpuFacts& gpu : gpus_)
      TRY_STATUS(of_gpu(gpu, check_amd_use(amd_use_, gpu.pci_address, options_.require_idle)));
    return {};
  }

  Status check_use_by_nvml() {
    const InCall in_call(slot_.watch, "NVML");
    const auto sensors = Sensors::open(options_.sensor_library);
    if (!sensors && !options_.require_idle) {
      warn_unknown_users(sensors.error());
      return {};
    }
    for (const GpuFacts& gpu : gpus_)
      TRY_STATUS(
          of_gpu(gpu, sensors ? check_use_of(gpu, *sensors) : refuse_unknown_use(sensors.error().what)));
    return {};
  }

  static void warn_unknown_users(const Error& why) {
    std::fprintf(stderr, "the users of the GPUs are unknown: %s\n", why.what.c_str());
  }

  static Status of_gpu(const GpuFacts& gpu, Status status) {
    if (status) return status;
    return fail(status.error().code,
                "gpu " + std::to_string(gpu.index) + " (" + gpu.pci_address + ") " + status.error().what);
  }

  [[nodiscard]] Status check_use_of(const GpuFacts& gpu, const Sensors& sensors) const {
    const auto device = sensors.find(gpu.pci_address);
    if (!device && options_.require_idle) return refuse_unknown_use(device.error().what);
    if (!device) return {};
    const auto processes = sensors.processes(*device);
    const SensorValues values = sensors.read(*device);
    Status status = options_.require_idle ? check_is_idle(processes, values, sensors.is_divided(*device))
                                          : check_is_free(processes, values);
    // The pid of the MPS server does not identify the jobs behind it.
    if (const auto server = find_mps_server(processes.value_or(std::vector<unsigned>{})); !status && server)
      return fail(status.error().code,
                  status.error().what + "; " + std::to_string(*server) +
                      " is nvidia-cuda-mps-server, which shares the GPU with other processes");
    return status;
  }

  Status open_nccl() {
    auto opened = TRY(NcclLibrary::open(options_.nccl_library.value_or(nccl_library(options_.vendor)),
                                        slot_.watch, options_.vendor));
    nccl_ = std::make_unique<NcclLibrary>(std::move(opened));
    note_simulated(nccl_->is_simulated());
    auto version = TRY(nccl_->version());
    slot_.change([&](AllReduceReport& report) { report.nccl_version = std::move(version); });
    return {};
  }

  Status take_memory() {
    const std::size_t bytes = static_cast<std::size_t>(options_.megabytes) << 20;
    for (const GpuFacts& gpu : gpus_) {
      auto memory = RankMemory::open(*driver_, gpu, bytes);
      if (!memory)
        return fail(memory.error().code, "gpu " + std::to_string(gpu.index) + ": " + memory.error().what);
      memories_.push_back(*std::move(memory));
    }
    return {};
  }

  Result<nccl::UniqueId> agree_on_id() {
    if (options_.id) return *options_.id;
    nccl::UniqueId id{};
    TRY_STATUS(nccl_->run(nccl_->calls().make_id, &id));
    invite_(to_invitation(slot_.report(), to_text(id)));
    return id;
  }

  Result<std::unique_ptr<Communicator>> join(const nccl::UniqueId& id) {
    std::vector<Session*> sessions;
    for (const RankMemory& memory : memories_)
      sessions.push_back(&memory.session());
    std::fprintf(stderr, "joining as ranks %d to %d of %d\n", options_.first,
                 options_.first + static_cast<int>(memories_.size()) - 1, options_.ranks);
    return Communicator::join(*nccl_, sessions, id, options_.ranks, options_.first);
  }

  void measure(Communicator& communicator) {
    std::fprintf(stderr, "all ranks have joined\n");
    const AllReduceListener listener{.on_begin = [this](double seconds) { slot_.seconds = seconds; },
                                     .on_wrong = [this](const WrongSum& wrong) { note_wrong(wrong); }};
    auto figures = measure_all_reduce(communicator, memories_, options_.first, options_.seconds, listener);
    // Everything is reported before the communicator ends, because NCCL can hang there.
    if (figures) {
      slot_.change([&](AllReduceReport& report) { report.figures = *std::move(figures); });
    } else {
      slot_.fail(failure_of_error(figures.error()));
      communicator.give_up();
    }
  }

  // A wrong sum has precedence over later failures.
  void note_wrong(const WrongSum& wrong) {
    slot_.change([&](AllReduceReport& report) {
      if (report.failure && report.failure->reason != Reason::wrong_result) return;
      report.failure = failure_of_wrong_sum(wrong.text);
      report.wrong_rank = wrong.rank;
      report.wrong_last_rank = wrong.last;
    });
  }

  const AllReduceOptions& options_;
  const std::function<void(const std::string&)>& invite_;
  AllReduceSlot& slot_;
  std::unique_ptr<Library> library_;  // this and the next: null until opened
  std::unique_ptr<Driver> driver_;
  std::vector<GpuFacts> gpus_;
  Result<host::KfdProcesses> amd_use_;  // read before HIP was opened
  std::unique_ptr<NcclLibrary> nccl_;
  std::vector<RankMemory> memories_;
};

}  // namespace

void run_all_reduce_worker(const AllReduceOptions& options,
                           const std::function<void(const std::string&)>& invite, AllReduceSlot& slot) {
  {
    Worker worker(options, invite, slot);
    const Status outcome = worker.run();
    if (!outcome) slot.fail(worker.failure_of_error(outcome.error()));
  }
  slot.done = true;
}

}  // namespace autopilot::probes::gpu
