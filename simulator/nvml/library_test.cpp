// SPDX-License-Identifier: Apache-2.0
// The library as a client sees it: loaded by dlopen, one process.
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <type_traits>

#include "core/yaml_text.hpp"
#include "host/gpu/nvml_abi.h"
#include "machine/description.hpp"
#include "tests/paths/paths.hpp"
#include "tree/tree_store.hpp"

namespace autopilot::simulator {
namespace {

using namespace host::nvml;
using namespace std::chrono_literals;

// Every function of the list, as a pointer into the loaded library.
struct Functions {
#define AUTOPILOT_POINTER(need, name, result, arguments) std::add_pointer_t<result arguments> name = nullptr;
  AUTOPILOT_NVML_FUNCTIONS(AUTOPILOT_POINTER)
#undef AUTOPILOT_POINTER
};

class Library : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "nvml_sim_" +
                 testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(::getpid());
    std::filesystem::remove_all(directory_);
    machine_ = builtin_machine("hgx-h100-8").value();
    machine_.files = {};  // the library reads none of them
    writer_.emplace(directory_);
    write();
    ::setenv("AUTOPILOT_SIM_MACHINE", directory_.c_str(), 1);
    library_ = ::dlopen(paths::program("libnvidia-ml-sim.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << ::dlerror();
#define AUTOPILOT_LOAD(need, name, result, arguments)                            \
  nvml_.name = reinterpret_cast<decltype(nvml_.name)>(::dlsym(library_, #name)); \
  EXPECT_NE(nvml_.name, nullptr) << #name;
    AUTOPILOT_NVML_FUNCTIONS(AUTOPILOT_LOAD)
#undef AUTOPILOT_LOAD
  }
  void TearDown() override {
    while (nvml_.nvmlShutdown() == kSuccess) {
    }
    ::dlclose(library_);
    std::filesystem::remove_all(directory_);
  }
  void write() {
    const auto written = writer_->write(machine_);
    ASSERT_TRUE(written) << written.error().what;
  }
  void set(const std::string& address, const std::string& reading, YamlNode value) {
    yaml_member(yaml_member(*machine_.gpu(address), "readings"), reading) = std::move(value);
    write();
  }
  YamlNode& functions() { return yaml_member(*machine_.nvml, "functions"); }
  Device device(unsigned index) {
    Device handle = nullptr;
    EXPECT_EQ(nvml_.nvmlDeviceGetHandleByIndex_v2(index, &handle), kSuccess);
    return handle;
  }
  std::string uuid(Device handle) {
    char text[kDeviceUuidSize] = {};
    EXPECT_EQ(nvml_.nvmlDeviceGetUUID(handle, text, sizeof(text)), kSuccess);
    return text;
  }

  std::string directory_;
  Machine machine_;
  std::optional<TreeWriter> writer_;
  void* library_ = nullptr;
  Functions nvml_;
};

TEST_F(Library, AnswersWithTheValuesOfTheTree) {
  unsigned count = 0;
  EXPECT_EQ(nvml_.nvmlDeviceGetCount_v2(&count), kUninitialized);
  ASSERT_EQ(nvml_.nvmlInit_v2(), kSuccess);
  ASSERT_EQ(nvml_.nvmlDeviceGetCount_v2(&count), kSuccess);
  EXPECT_EQ(count, 8U);
  Device first = device(0);
  char name[kDeviceNameSize] = {};
  EXPECT_EQ(nvml_.nvmlDeviceGetName(first, name, sizeof(name)), kSuccess);
  EXPECT_STREQ(name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(nvml_.nvmlDeviceGetName(first, name, 4), kInsufficientSize);
  PciInfo pci{};
  EXPECT_EQ(nvml_.nvmlDeviceGetPciInfo_v3(first, &pci), kSuccess);
  EXPECT_STREQ(pci.busId, "00000000:1B:00.0");
  EXPECT_EQ(pci.pciDeviceId, 0x233010deU);
  unsigned milliwatts = 0;
  EXPECT_EQ(nvml_.nvmlDeviceGetPowerUsage(first, &milliwatts), kSuccess);
  EXPECT_EQ(milliwatts, 71000U);
  unsigned celsius = 0;
  EXPECT_EQ(nvml_.nvmlDeviceGetTemperatureThreshold(first, kTemperatureThresholdShutdown, &celsius),
            kNotSupported);
  EXPECT_EQ(nvml_.nvmlDeviceGetNvLinkRemotePciInfo_v2(first, 17, &pci), kSuccess);
  EXPECT_STREQ(pci.busId, "00000000:0A:00.0");
  EXPECT_EQ(nvml_.nvmlDeviceGetNvLinkState(first, 18, &celsius), kInvalidArgument);
}

TEST_F(Library, SeesAChangeOfTheTree) {
  ASSERT_EQ(nvml_.nvmlInit_v2(), kSuccess);
  unsigned rows[4] = {};
  Device third = device(2);
  EXPECT_EQ(nvml_.nvmlDeviceGetRemappedRows(third, &rows[0], &rows[1], &rows[2], &rows[3]), kSuccess);
  EXPECT_EQ(rows[2], 0U);
  set("0000:52:00.0", "row_remap.pending", yaml_flag(true));
  EXPECT_EQ(nvml_.nvmlDeviceGetRemappedRows(third, &rows[0], &rows[1], &rows[2], &rows[3]), kSuccess);
  EXPECT_EQ(rows[2], 1U);
  YamlNode code = yaml_map();
  yaml_member(code, "code") = yaml_integer(kUnknown);
  set("0000:52:00.0", "row_remap.failed", code);
  EXPECT_EQ(nvml_.nvmlDeviceGetRemappedRows(third, &rows[0], &rows[1], &rows[2], &rows[3]), kUnknown);
}

TEST_F(Library, NamesEveryProcessOfAGpuThatManyShare) {
  ASSERT_EQ(nvml_.nvmlInit_v2(), kSuccess);
  set("0000:52:00.0", "processes.count", yaml_integer(4));
  set("0000:52:00.0", "processes.pids", yaml_word("4194301 4194302 4194303 4194304"));
  unsigned count = 8;
  ProcessInfo processes[8] = {};
  ASSERT_EQ(nvml_.nvmlDeviceGetComputeRunningProcesses_v3(device(2), &count, processes), kSuccess);
  ASSERT_EQ(count, 4U);
  for (unsigned i = 0; i < count; ++i)
    EXPECT_EQ(processes[i].pid, 4194301U + i);
}

TEST_F(Library, FieldValuesAreTheSameReadings) {
  ASSERT_EQ(nvml_.nvmlInit_v2(), kSuccess);
  set("0000:1b:00.0", "throttle.hw_thermal", yaml_integer(123456789012));
  FieldValue values[3] = {};
  values[0].fieldId = kFieldHwThermalSlowdown;
  values[1].fieldId = kFieldNvLinkErrorReplay;
  values[1].scopeId = 17;
  values[2].fieldId = 9999;
  ASSERT_EQ(nvml_.nvmlDeviceGetFieldValues(device(0), 3, values), kSuccess);
  EXPECT_EQ(values[0].nvmlReturn, kSuccess);
  EXPECT_EQ(values[0].valueType, kValueUnsignedLongLong);
  EXPECT_EQ(values[0].value.ullVal, 123456789012U);
  EXPECT_EQ(values[1].nvmlReturn, kSuccess);
  EXPECT_EQ(values[2].nvmlReturn, kNotSupported);
}

TEST_F(Library, ALostGpuKeepsItsIndexUntilTheNextInit) {
  ASSERT_EQ(nvml_.nvmlInit_v2(), kSuccess);
  const std::string fourth = uuid(device(3));
  Device lost = device(2);
  yaml_member(*machine_.gpu("0000:52:00.0"), "state") = yaml_integer(kGpuIsLost);
  write();
  unsigned value = 0;
  EXPECT_EQ(nvml_.nvmlDeviceGetTemperature(lost, kTemperatureGpu, &value), kGpuIsLost);
  Device handle = nullptr;
  EXPECT_EQ(nvml_.nvmlDeviceGetHandleByIndex_v2(2, &handle), kGpuIsLost);
  EXPECT_EQ(uuid(device(3)), fourth);

  ASSERT_EQ(nvml_.nvmlShutdown(), kSuccess);
  ASSERT_EQ(nvml_.nvmlInit_v2(), kSuccess);
  ASSERT_EQ(nvml_.nvmlDeviceGetCount_v2(&value), kSuccess);
  EXPECT_EQ(value, 7U);
  EXPECT_EQ(uuid(device(2)), fourth);
}

TEST_F(Library, InitReturnsWhyTheDriverIsMissing) {
  yaml_member(yaml_member(*machine_.nvml, "driver"), "init") = yaml_integer(kLibRmVersionMismatch);
  write();
  EXPECT_EQ(nvml_.nvmlInit_v2(), kLibRmVersionMismatch);
  EXPECT_THAT(nvml_.nvmlErrorString(kLibRmVersionMismatch), testing::HasSubstr("mismatch"));
  machine_.nvml.reset();
  write();
  EXPECT_EQ(nvml_.nvmlInit_v2(), kLibraryNotFound);
}

TEST_F(Library, AHungCallReturnsWhenTheTreeIsRepaired) {
  ASSERT_EQ(nvml_.nvmlInit_v2(), kSuccess);
  Device first = device(0);
  yaml_member(functions(), "nvmlDeviceGetTemperature") = yaml_word("hang");
  write();
  unsigned power = 0;
  EXPECT_EQ(nvml_.nvmlDeviceGetPowerUsage(first, &power), kSuccess);
  auto call = std::async(std::launch::async, [&] {
    unsigned celsius = 0;
    return nvml_.nvmlDeviceGetTemperature(first, kTemperatureGpu, &celsius);
  });
  EXPECT_EQ(call.wait_for(200ms), std::future_status::timeout);
  yaml_remove(*machine_.nvml, "functions");
  write();
  ASSERT_EQ(call.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(call.get(), kSuccess);
}

TEST_F(Library, ACallFailsOrCrashesAsConfigured) {
  ASSERT_EQ(nvml_.nvmlInit_v2(), kSuccess);
  Device first = device(0);
  yaml_member(functions(), "nvmlDeviceGetPowerUsage") = yaml_integer(kUnknown);
  yaml_member(functions(), "nvmlDeviceGetTemperature") = yaml_word("abort");
  write();
  unsigned value = 0;
  EXPECT_EQ(nvml_.nvmlDeviceGetPowerUsage(first, &value), kUnknown);
  EXPECT_DEATH(static_cast<void>(nvml_.nvmlDeviceGetTemperature(first, kTemperatureGpu, &value)), "");
}

TEST_F(Library, ReportsXidsAfterTheRegistration) {
  YamlNode& events = yaml_member(*machine_.nvml, "events");
  events = yaml_list();
  const auto add = [&](int id, const char* gpu, int xid) {
    YamlNode& event = events.items.emplace_back(yaml_map());
    yaml_member(event, "id") = yaml_integer(id);
    yaml_member(event, "gpu") = yaml_word(gpu);
    yaml_member(event, "xid") = yaml_integer(xid);
    write();
  };
  add(1, "0000:1b:00.0", 13);
  ASSERT_EQ(nvml_.nvmlInit_v2(), kSuccess);
  EventSet set = nullptr;
  ASSERT_EQ(nvml_.nvmlEventSetCreate(&set), kSuccess);
  ASSERT_EQ(nvml_.nvmlDeviceRegisterEvents(device(0), kEventXidCriticalError, set), kSuccess);
  EventData data{};
  EXPECT_EQ(nvml_.nvmlEventSetWait_v2(set, &data, 0), kTimeout);
  add(2, "0000:43:00.0", 63);  // not registered
  add(3, "0000:1b:00.0", 79);
  ASSERT_EQ(nvml_.nvmlEventSetWait_v2(set, &data, 1000), kSuccess);
  EXPECT_EQ(data.eventData, 79U);
  EXPECT_EQ(data.device, device(0));
  EXPECT_EQ(nvml_.nvmlEventSetWait_v2(set, &data, 0), kTimeout);
  EXPECT_EQ(nvml_.nvmlEventSetFree(set), kSuccess);
}

TEST_F(Library, LiveReadingsReplaceThoseOfTheTree) {
  ASSERT_EQ(nvml_.nvmlInit_v2(), kSuccess);
  const auto power_of = [&](unsigned index) {
    unsigned milliwatts = 0;
    EXPECT_EQ(nvml_.nvmlDeviceGetPowerUsage(device(index), &milliwatts), kSuccess);
    return milliwatts;
  };
  const std::string path = directory_ + "/gpu_readings.txt";
  ASSERT_TRUE(write_text(path, "* power.usage 100\n3 power.usage 650.5\n0000:1b:00.0 power.usage 90\n"));
  EXPECT_EQ(power_of(3), 650'500U);
  EXPECT_EQ(power_of(0), 90'000U);
  EXPECT_EQ(power_of(1), 100'000U);
  ASSERT_TRUE(write_text(path, "3 power.usage 200\n"));
  EXPECT_EQ(power_of(3), 200'000U);
  EXPECT_EQ(power_of(1), 71'000U) << "a reading that is not set any more";
  ASSERT_TRUE(write_text(path, "11 power.usage 200\n"));
  EXPECT_EQ(power_of(3), 71'000U) << "a row about no GPU";
  std::filesystem::remove(path);
  EXPECT_EQ(power_of(3), 71'000U);
}

TEST_F(Library, TrafficGrowsAtItsRate) {
  ASSERT_EQ(nvml_.nvmlInit_v2(), kSuccess);
  const auto read = [&](unsigned id, unsigned scope) {
    FieldValue value{};
    value.fieldId = id;
    value.scopeId = scope;
    EXPECT_EQ(nvml_.nvmlDeviceGetFieldValues(device(0), 1, &value), kSuccess);
    EXPECT_EQ(value.nvmlReturn, kSuccess);
    return value.value.ullVal;
  };
  EXPECT_EQ(read(kFieldNvLinkThroughputTx, kAllLinks), 0U);
  EXPECT_EQ(read(kFieldPcieRxBytes, 0), 0U);
  ASSERT_TRUE(write_text(directory_ + "/gpu_readings.txt", "0 nvlink.bytes_s 1e12\n0 pcie.bytes_s 1e12\n"));
  EXPECT_GT(read(kFieldNvLinkThroughputTx, kAllLinks), 0U);
  const auto pcie = read(kFieldPcieRxBytes, 0);
  EXPECT_GT(pcie, 0U);
  EXPECT_GT(read(kFieldPcieRxBytes, 0), pcie);
}

TEST_F(Library, KeepsItsStateWhenTheFileIsBroken) {
  ASSERT_EQ(nvml_.nvmlInit_v2(), kSuccess);
  ASSERT_TRUE(write_text(directory_ + "/nvml.yaml", "gpus: [broken"));
  unsigned count = 0;
  EXPECT_EQ(nvml_.nvmlDeviceGetCount_v2(&count), kSuccess);
  EXPECT_EQ(count, 8U);
}

}  // namespace
}  // namespace autopilot::simulator
