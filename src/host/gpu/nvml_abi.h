// SPDX-License-Identifier: Apache-2.0
// The part of NVML's binary interface that we use, written by us: only the names of functions and fields are
// the library's. The helper calls through it, and the simulated driver is built against it. Sizes, offsets
// and values were compared with the ctypes declarations of nvidia-ml-py 13.615.71 (PyPI), 2026-11-21;
// tests/integration runs that client against the simulated driver.
#pragma once

#include <cstddef>
#include <cstdint>

// Argument types have the library's names, so that a sanitizer accepts calls between programs that declare
// them separately. NOLINTBEGIN(readability-identifier-naming)
struct nvmlDevice_st;
struct nvmlProcessInfo_v2_st {
  unsigned pid;
  unsigned long long usedGpuMemory;  // bytes
  unsigned gpuInstanceId;
  unsigned computeInstanceId;
};
// NOLINTEND(readability-identifier-naming)

namespace autopilot::host::nvml {

using Return = int;
using Device = nvmlDevice_st*;
struct EventSetTag;
using EventSet = EventSetTag*;

// ---- return codes
// Not NVML's: the library has no function of that name.
inline constexpr Return kSymbolAbsent = -1;

inline constexpr Return kSuccess = 0;
inline constexpr Return kUninitialized = 1;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kAlreadyInitialized = 5;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kInsufficientPower = 8;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kIrqIssue = 11;
inline constexpr Return kLibraryNotFound = 12;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kCorruptedInforom = 14;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kOperatingSystem = 17;
inline constexpr Return kLibRmVersionMismatch = 18;
inline constexpr Return kInUse = 19;
inline constexpr Return kMemory = 20;
inline constexpr Return kNoData = 21;
inline constexpr Return kVgpuEccNotSupported = 22;
inline constexpr Return kInsufficientResources = 23;
inline constexpr Return kFreqNotSupported = 24;
inline constexpr Return kArgumentVersionMismatch = 25;
inline constexpr Return kDeprecated = 26;
inline constexpr Return kNotReady = 27;
inline constexpr Return kGpuNotFound = 28;
inline constexpr Return kInvalidState = 29;
inline constexpr Return kUnknown = 999;

// ---- sizes of text buffers
inline constexpr unsigned kSystemVersionSize = 80;  // driver and NVML version
inline constexpr unsigned kDeviceNameSize = 96;
inline constexpr unsigned kDeviceUuidSize = 96;
inline constexpr unsigned kDeviceSerialSize = 30;

// ---- enumerations (int at the border)
inline constexpr unsigned kInitFlagNoGpus = 1;
inline constexpr unsigned kInitFlagNoAttach = 2;

inline constexpr unsigned kTemperatureGpu = 0;  // sensor
inline constexpr unsigned kTemperatureThresholdShutdown = 0;
inline constexpr unsigned kTemperatureThresholdSlowdown = 1;
inline constexpr unsigned kTemperatureThresholdMemMax = 2;
inline constexpr unsigned kTemperatureThresholdGpuMax = 3;

inline constexpr unsigned kClockGraphics = 0;
inline constexpr unsigned kClockSm = 1;
inline constexpr unsigned kClockMem = 2;
inline constexpr unsigned kClockVideo = 3;

inline constexpr unsigned kMemoryErrorCorrected = 0;
inline constexpr unsigned kMemoryErrorUncorrected = 1;
inline constexpr unsigned kEccVolatile = 0;   // since the driver was loaded
inline constexpr unsigned kEccAggregate = 1;  // over the life of the board

inline constexpr unsigned kMemoryLocationL1Cache = 0;
inline constexpr unsigned kMemoryLocationL2Cache = 1;
inline constexpr unsigned kMemoryLocationDram = 2;
inline constexpr unsigned kMemoryLocationRegisterFile = 3;
inline constexpr unsigned kMemoryLocationTextureMemory = 4;
inline constexpr unsigned kMemoryLocationTextureShm = 5;
inline constexpr unsigned kMemoryLocationCbu = 6;
inline constexpr unsigned kMemoryLocationSram = 7;

inline constexpr unsigned kRetirementMultipleSingleBit = 0;
inline constexpr unsigned kRetirementDoubleBit = 1;

inline constexpr unsigned kPerfPolicyPower = 0;
inline constexpr unsigned kPerfPolicyThermal = 1;
inline constexpr unsigned kPerfPolicySyncBoost = 2;
inline constexpr unsigned kPerfPolicyBoardLimit = 3;
inline constexpr unsigned kPerfPolicyLowUtilization = 4;
inline constexpr unsigned kPerfPolicyReliability = 5;
inline constexpr unsigned kPerfPolicyTotalAppClocks = 10;
inline constexpr unsigned kPerfPolicyTotalBaseClocks = 11;

inline constexpr unsigned kNvLinkErrorReplay = 0;
inline constexpr unsigned kNvLinkErrorRecovery = 1;
inline constexpr unsigned kNvLinkErrorCrcFlit = 2;
inline constexpr unsigned kNvLinkErrorCrcData = 3;
inline constexpr unsigned kNvLinkMaxLinks = 36;

// Versions of NVLink, as NVML numbers them: the last one with one counter field for each link; NVLink 5.
inline constexpr unsigned kLastVersionWithLinkFields = 5;
inline constexpr unsigned kNvLink5 = 7;

inline constexpr unsigned kFeatureDisabled = 0;  // persistence mode, link state, ECC mode
inline constexpr unsigned kFeatureEnabled = 1;
inline constexpr unsigned kMigDisabled = 0;
inline constexpr unsigned kMigEnabled = 1;

// Bits of nvmlDeviceGetCurrentClocksEventReasons, the same as of the older ...ThrottleReasons.
inline constexpr std::uint64_t kClocksReasonGpuIdle = 0x1;
inline constexpr std::uint64_t kClocksReasonApplicationsClocks = 0x2;
inline constexpr std::uint64_t kClocksReasonSwPowerCap = 0x4;
inline constexpr std::uint64_t kClocksReasonHwSlowdown = 0x8;
inline constexpr std::uint64_t kClocksReasonSyncBoost = 0x10;
inline constexpr std::uint64_t kClocksReasonSwThermal = 0x20;
inline constexpr std::uint64_t kClocksReasonHwThermal = 0x40;
inline constexpr std::uint64_t kClocksReasonHwPowerBrake = 0x80;
inline constexpr std::uint64_t kClocksReasonDisplayClock = 0x100;

inline constexpr std::uint64_t kEventSingleBitEcc = 0x1;
inline constexpr std::uint64_t kEventDoubleBitEcc = 0x2;
inline constexpr std::uint64_t kEventPState = 0x4;
inline constexpr std::uint64_t kEventXidCriticalError = 0x8;
inline constexpr std::uint64_t kEventClock = 0x10;
inline constexpr std::uint64_t kEventGpuUnavailable = 0x4000;
inline constexpr std::uint64_t kEventGpuRecoveryAction = 0x8000;

// Value of field kFieldNvLinkSymbolBer: mantissa * 10 ^ -exponent. All bits set where there is no error.
inline constexpr unsigned kBerMantissaShift = 8;
inline constexpr unsigned kBerMantissaMask = 0xf;
inline constexpr unsigned kBerExponentMask = 0xff;

// GpuFabricInfo::state. status is to be read in the state completed only.
inline constexpr unsigned kFabricNotSupported = 0;
inline constexpr unsigned kFabricNotStarted = 1;
inline constexpr unsigned kFabricInProgress = 2;
inline constexpr unsigned kFabricCompleted = 3;
inline constexpr unsigned kFabricUuidSize = 16;

// Value of field kFieldRecoveryAction.
inline constexpr unsigned kRecoveryNone = 0;
inline constexpr unsigned kRecoveryGpuReset = 1;
inline constexpr unsigned kRecoveryNodeReboot = 2;
inline constexpr unsigned kRecoveryDrainP2p = 3;
inline constexpr unsigned kRecoveryDrainAndReset = 4;
inline constexpr unsigned kRecoveryImexDomain = 5;
inline constexpr unsigned kRecoveryBusReset = 6;
inline constexpr unsigned kRecoverySystemReboot = 7;

// ---- field ids of nvmlDeviceGetFieldValues
inline constexpr unsigned kFieldRetiredSbe = 29;
inline constexpr unsigned kFieldRetiredDbe = 30;
inline constexpr unsigned kFieldRetiredPending = 31;
// Time under a limit, nanoseconds, growing while the driver is loaded.
inline constexpr unsigned kFieldPerfPolicyPower = 74;
inline constexpr unsigned kFieldPerfPolicyThermal = 75;
inline constexpr unsigned kFieldPerfPolicySyncBoost = 76;
inline constexpr unsigned kFieldPerfPolicyBoardLimit = 77;
inline constexpr unsigned kFieldPerfPolicyLowUtilization = 78;
inline constexpr unsigned kFieldPerfPolicyReliability = 79;
inline constexpr unsigned kFieldPerfPolicyTotalAppClocks = 80;
inline constexpr unsigned kFieldPerfPolicyTotalBaseClocks = 81;
inline constexpr unsigned kFieldMemoryTemperature = 82;
inline constexpr unsigned kFieldNvLinkLinkCount = 91;
inline constexpr unsigned kFieldPcieReplayCounter = 94;
inline constexpr unsigned kFieldPcieReplayRollovers = 95;
// KiB since the driver was loaded, without the overhead of the protocol; scopeId is a link or kAllLinks.
inline constexpr unsigned kFieldNvLinkThroughputTx = 138;
inline constexpr unsigned kFieldNvLinkThroughputRx = 139;
inline constexpr unsigned kAllLinks = 0xffffffff;
inline constexpr unsigned kFieldRemappedCorrectable = 142;
inline constexpr unsigned kFieldRemappedUncorrectable = 143;
inline constexpr unsigned kFieldRemappedPending = 144;
inline constexpr unsigned kFieldRemappedFailure = 145;
inline constexpr unsigned kFieldNvSwitchConnectedLinks = 147;
// NVLink before the fourth generation: one field for each link, links 0 to 5 from here and 6 to 11 from the
// second number.
inline constexpr unsigned kFieldsNvLinkCrcFlit[] = {32, 96};
inline constexpr unsigned kFieldsNvLinkCrcData[] = {39, 102};
inline constexpr unsigned kFieldsNvLinkReplay[] = {46, 108};
inline constexpr unsigned kFieldsNvLinkRecovery[] = {53, 114};
inline constexpr unsigned kNvLinksPerFieldRange = 6;
// scopeId is the link.
inline constexpr unsigned kFieldNvLinkErrorReplay = 161;
inline constexpr unsigned kFieldNvLinkErrorRecovery = 162;
inline constexpr unsigned kFieldNvLinkErrorCrc = 163;
inline constexpr unsigned kFieldPcieL0ToRecovery = 169;
inline constexpr unsigned kFieldPcieCorrectableErrors = 173;
inline constexpr unsigned kFieldPcieNaksReceived = 174;
inline constexpr unsigned kFieldPcieReceiverErrors = 175;
inline constexpr unsigned kFieldPcieBadTlps = 176;
inline constexpr unsigned kFieldPcieNaksSent = 177;
inline constexpr unsigned kFieldPcieBadDllps = 178;
inline constexpr unsigned kFieldPcieNonFatalErrors = 179;
inline constexpr unsigned kFieldPcieFatalErrors = 180;
inline constexpr unsigned kFieldPcieUnsupportedRequests = 181;
inline constexpr unsigned kFieldPcieLcrcErrors = 182;
inline constexpr unsigned kFieldPcieLaneErrors = 183;
inline constexpr unsigned kFieldPowerDefaultLimit = 189;
inline constexpr unsigned kFieldPowerRequestedLimit = 192;
inline constexpr unsigned kFieldTemperatureShutdownTlimit = 193;
inline constexpr unsigned kFieldTemperatureSlowdownTlimit = 194;
// Bytes since the driver was loaded.
inline constexpr unsigned kFieldPcieTxBytes = 197;
inline constexpr unsigned kFieldPcieRxBytes = 198;
// NVLink 5; scopeId is the link.
inline constexpr unsigned kFieldNvLinkTxBytes = 202;
inline constexpr unsigned kFieldNvLinkRxBytes = 204;
inline constexpr unsigned kFieldNvLinkReceiveErrors = 208;
inline constexpr unsigned kFieldNvLinkIntegrityErrors = 211;
inline constexpr unsigned kFieldNvLinkRecoverySuccessful = 213;
inline constexpr unsigned kFieldNvLinkRecoveryFailed = 214;
inline constexpr unsigned kFieldNvLinkRecoveryEvents = 215;
inline constexpr unsigned kFieldNvLinkEffectiveErrors = 219;
inline constexpr unsigned kFieldNvLinkSymbolBer = 222;
inline constexpr unsigned kFieldRecoveryAction = 230;
inline constexpr unsigned kFieldSwThermalSlowdown = 269;
inline constexpr unsigned kFieldHwThermalSlowdown = 270;
inline constexpr unsigned kFieldHwPowerBrakeSlowdown = 271;

inline constexpr unsigned kValueDouble = 0;
inline constexpr unsigned kValueUnsignedInt = 1;
inline constexpr unsigned kValueUnsignedLong = 2;
inline constexpr unsigned kValueUnsignedLongLong = 3;
inline constexpr unsigned kValueSignedLongLong = 4;
inline constexpr unsigned kValueSignedInt = 5;
inline constexpr unsigned kValueUnsignedShort = 6;

// ---- structs
// "version" of a versioned struct: its size, and its number in the top byte.
template <class T>
inline constexpr unsigned struct_version(unsigned number) {
  return static_cast<unsigned>(sizeof(T)) | (number << 24U);
}

struct PciInfo {
  char busIdLegacy[16];  // "0000:3B:00.0"
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pciDeviceId;  // device << 16 | vendor
  unsigned pciSubSystemId;
  char busId[32];  // "00000000:3B:00.0"
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, busId) == 36);

struct Memory {  // bytes
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(Memory) == 24);

struct MemoryV2 {  // version 2; bytes. `reserved` is the driver's own and no part of `used`
  unsigned version;
  std::uint64_t total;
  std::uint64_t reserved;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(struct_version<MemoryV2>(2) == 0x2000028);

struct Utilization {  // percent
  unsigned gpu;
  unsigned memory;
};
static_assert(sizeof(Utilization) == 8);

struct ViolationTime {  // microseconds of reference, nanoseconds of violation
  std::uint64_t referenceTime;
  std::uint64_t violationTime;
};
static_assert(sizeof(ViolationTime) == 16);

struct RowRemapperHistogram {  // number of banks by how many spare rows are left
  unsigned max;
  unsigned high;
  unsigned partial;
  unsigned low;
  unsigned none;
};
static_assert(sizeof(RowRemapperHistogram) == 20);

struct EccSramErrorStatus {  // version 1
  unsigned version;
  std::uint64_t aggregateUncParity;
  std::uint64_t aggregateUncSecDed;
  std::uint64_t aggregateCor;
  std::uint64_t volatileUncParity;
  std::uint64_t volatileUncSecDed;
  std::uint64_t volatileCor;
  std::uint64_t aggregateUncBucketL2;
  std::uint64_t aggregateUncBucketSm;
  std::uint64_t aggregateUncBucketPcie;
  std::uint64_t aggregateUncBucketMcu;
  std::uint64_t aggregateUncBucketOther;
  unsigned bThresholdExceeded;
};
static_assert(sizeof(EccSramErrorStatus) == 104 && offsetof(EccSramErrorStatus, bThresholdExceeded) == 96);
static_assert(struct_version<EccSramErrorStatus>(1) == 16777320);

struct RepairStatus {  // version 1
  unsigned version;
  unsigned bChannelRepairPending;
  unsigned bTpcRepairPending;
};
static_assert(struct_version<RepairStatus>(1) == 0x100000c);

struct UnrepairableMemory {  // version 1
  unsigned version;
  unsigned unrepairableMemory;
};
static_assert(struct_version<UnrepairableMemory>(1) == 0x1000008);

struct GpuFabricInfo {  // before driver 550; no health mask
  unsigned char clusterUuid[kFabricUuidSize];
  Return status;
  unsigned cliqueId;
  unsigned char state;
};
static_assert(sizeof(GpuFabricInfo) == 28);

struct GpuFabricInfoV2 {  // version 2
  unsigned version;
  unsigned char clusterUuid[kFabricUuidSize];
  Return status;
  unsigned cliqueId;
  unsigned char state;
  unsigned healthMask;
};
static_assert(struct_version<GpuFabricInfoV2>(2) == 0x2000024);

struct Temperature {  // version 1
  unsigned version;
  unsigned sensorType;
  int temperature;
};
static_assert(struct_version<Temperature>(1) == 16777228);

struct MarginTemperature {  // version 1; degrees to the nearest slowdown threshold
  unsigned version;
  int marginTemperature;
};
static_assert(struct_version<MarginTemperature>(1) == 16777224);

union FieldNumber {
  double dVal;
  int siVal;
  unsigned uiVal;
  unsigned long ulVal;
  unsigned long long ullVal;
  long long sllVal;
  unsigned short usVal;
};
static_assert(sizeof(FieldNumber) == 8);

struct FieldValue {
  unsigned fieldId;
  unsigned scopeId;
  long long timestamp;    // microseconds since 1970
  long long latencyUsec;  // microseconds the update took
  unsigned valueType;
  Return nvmlReturn;
  FieldNumber value;
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, valueType) == 24 &&
              offsetof(FieldValue, value) == 32);

using ProcessInfo = nvmlProcessInfo_v2_st;  // of nvmlDeviceGetComputeRunningProcesses_v3
static_assert(sizeof(ProcessInfo) == 24 && offsetof(ProcessInfo, gpuInstanceId) == 16);

struct EventData {
  Device device;
  unsigned long long eventType;
  unsigned long long eventData;  // Xid number; 999 when the library does not know it
  unsigned gpuInstanceId;
  unsigned computeInstanceId;
};
static_assert(sizeof(EventData) == 32 && offsetof(EventData, gpuInstanceId) == 24);

}  // namespace autopilot::host::nvml

// Every function that the helper calls: X(need, name, result, arguments). required: the library is unusable
// without it (library_broken); optional: its readings get the code kSymbolAbsent. The simulated driver
// defines all of them, and more functions for other clients.
// clang-format off
#define AUTOPILOT_NVML_FUNCTIONS(X) \
  X(required, nvmlInit_v2, Return, ()) \
  X(optional, nvmlInitWithFlags, Return, (unsigned flags)) \
  X(required, nvmlShutdown, Return, ()) \
  X(required, nvmlErrorString, const char*, (Return code)) \
  X(required, nvmlSystemGetDriverVersion, Return, (char* text, unsigned size)) \
  X(optional, nvmlSystemGetNVMLVersion, Return, (char* text, unsigned size)) \
  X(optional, nvmlSystemGetCudaDriverVersion_v2, Return, (int* version)) \
  X(required, nvmlDeviceGetCount_v2, Return, (unsigned* count)) \
  X(required, nvmlDeviceGetHandleByIndex_v2, Return, (unsigned index, Device* device)) \
  X(optional, nvmlDeviceGetHandleByPciBusId_v2, Return, (const char* bus_id, Device* device)) \
  X(optional, nvmlDeviceGetHandleByUUID, Return, (const char* uuid, Device* device)) \
  X(required, nvmlDeviceGetUUID, Return, (Device device, char* text, unsigned size)) \
  X(optional, nvmlDeviceGetSerial, Return, (Device device, char* text, unsigned size)) \
  X(required, nvmlDeviceGetPciInfo_v3, Return, (Device device, PciInfo* pci)) \
  X(required, nvmlDeviceGetName, Return, (Device device, char* text, unsigned size)) \
  X(optional, nvmlDeviceGetMinorNumber, Return, (Device device, unsigned* minor)) \
  X(optional, nvmlDeviceGetRemappedRows, Return, (Device device, unsigned* correctable, unsigned* uncorrectable, unsigned* pending, unsigned* failed)) \
  X(optional, nvmlDeviceGetRowRemapperHistogram, Return, (Device device, RowRemapperHistogram* banks)) \
  X(optional, nvmlDeviceGetRetiredPages, Return, (Device device, unsigned cause, unsigned* count, unsigned long long* addresses)) \
  X(optional, nvmlDeviceGetRetiredPages_v2, Return, (Device device, unsigned cause, unsigned* count, unsigned long long* addresses, unsigned long long* times)) \
  X(optional, nvmlDeviceGetRetiredPagesPendingStatus, Return, (Device device, unsigned* pending)) \
  X(optional, nvmlDeviceGetEccMode, Return, (Device device, unsigned* current, unsigned* pending)) \
  X(optional, nvmlDeviceGetTotalEccErrors, Return, (Device device, unsigned error_type, unsigned counter, unsigned long long* count)) \
  X(optional, nvmlDeviceGetMemoryErrorCounter, Return, (Device device, unsigned error_type, unsigned counter, unsigned location, unsigned long long* count)) \
  X(optional, nvmlDeviceGetSramEccErrorStatus, Return, (Device device, EccSramErrorStatus* status)) \
  X(optional, nvmlDeviceGetCurrentClocksEventReasons, Return, (Device device, unsigned long long* reasons)) \
  X(optional, nvmlDeviceGetCurrentClocksThrottleReasons, Return, (Device device, unsigned long long* reasons)) \
  X(optional, nvmlDeviceGetViolationStatus, Return, (Device device, unsigned policy, ViolationTime* time)) \
  X(optional, nvmlDeviceGetClockInfo, Return, (Device device, unsigned clock, unsigned* megahertz)) \
  X(optional, nvmlDeviceGetMaxClockInfo, Return, (Device device, unsigned clock, unsigned* megahertz)) \
  X(optional, nvmlDeviceGetTemperature, Return, (Device device, unsigned sensor, unsigned* celsius)) \
  X(optional, nvmlDeviceGetTemperatureV, Return, (Device device, Temperature* temperature)) \
  X(optional, nvmlDeviceGetTemperatureThreshold, Return, (Device device, unsigned threshold, unsigned* celsius)) \
  X(optional, nvmlDeviceGetMarginTemperature, Return, (Device device, MarginTemperature* margin)) \
  X(optional, nvmlDeviceGetPowerUsage, Return, (Device device, unsigned* milliwatts)) \
  X(optional, nvmlDeviceGetEnforcedPowerLimit, Return, (Device device, unsigned* milliwatts)) \
  X(optional, nvmlDeviceGetCurrPcieLinkWidth, Return, (Device device, unsigned* lanes)) \
  X(optional, nvmlDeviceGetMaxPcieLinkWidth, Return, (Device device, unsigned* lanes)) \
  X(optional, nvmlDeviceGetCurrPcieLinkGeneration, Return, (Device device, unsigned* generation)) \
  X(optional, nvmlDeviceGetMaxPcieLinkGeneration, Return, (Device device, unsigned* generation)) \
  X(optional, nvmlDeviceGetPcieReplayCounter, Return, (Device device, unsigned* count)) \
  X(optional, nvmlDeviceGetPerformanceState, Return, (Device device, unsigned* state)) \
  X(optional, nvmlDeviceGetUtilizationRates, Return, (Device device, Utilization* rates)) \
  X(optional, nvmlDeviceGetMemoryInfo, Return, (Device device, Memory* memory)) \
  X(optional, nvmlDeviceGetNvLinkState, Return, (Device device, unsigned link, unsigned* active)) \
  X(optional, nvmlDeviceGetNvLinkVersion, Return, (Device device, unsigned link, unsigned* version)) \
  X(optional, nvmlDeviceGetNvLinkRemotePciInfo_v2, Return, (Device device, unsigned link, PciInfo* pci)) \
  X(optional, nvmlDeviceGetNvLinkErrorCounter, Return, (Device device, unsigned link, unsigned counter, unsigned long long* count)) \
  X(optional, nvmlDeviceGetFieldValues, Return, (Device device, int count, FieldValue* values)) \
  X(optional, nvmlDeviceGetComputeRunningProcesses_v3, Return, (Device device, unsigned* count, ProcessInfo* processes)) \
  X(optional, nvmlDeviceGetGraphicsRunningProcesses_v3, Return, (Device device, unsigned* count, ProcessInfo* processes)) \
  X(optional, nvmlDeviceGetMemoryInfo_v2, Return, (Device device, MemoryV2* memory)) \
  X(optional, nvmlDeviceGetGpuFabricInfo, Return, (Device device, GpuFabricInfo* info)) \
  X(optional, nvmlDeviceGetGpuFabricInfoV, Return, (Device device, GpuFabricInfoV2* info)) \
  X(optional, nvmlDeviceGetRepairStatus, Return, (Device device, RepairStatus* status)) \
  X(optional, nvmlDeviceGetUnrepairableMemoryFlag_v1, Return, (Device device, UnrepairableMemory* flag)) \
  X(optional, nvmlDeviceValidateInforom, Return, (Device device)) \
  X(optional, nvmlDeviceGetPersistenceMode, Return, (Device device, unsigned* mode)) \
  X(optional, nvmlDeviceGetMigMode, Return, (Device device, unsigned* current, unsigned* pending)) \
  X(optional, nvmlDeviceGetMaxMigDeviceCount, Return, (Device device, unsigned* count)) \
  X(optional, nvmlDeviceGetMigDeviceHandleByIndex, Return, (Device device, unsigned index, Device* instance)) \
  X(optional, nvmlDeviceGetGpuInstanceId, Return, (Device instance, unsigned* id)) \
  X(optional, nvmlDeviceGetComputeInstanceId, Return, (Device instance, unsigned* id)) \
  X(optional, nvmlEventSetCreate, Return, (EventSet* set)) \
  X(optional, nvmlDeviceRegisterEvents, Return, (Device device, unsigned long long types, EventSet set)) \
  X(optional, nvmlEventSetWait_v2, Return, (EventSet set, EventData* data, unsigned timeout_ms)) \
  X(optional, nvmlEventSetFree, Return, (EventSet set)) \
  X(optional, nvmlDeviceGetSupportedEventTypes, Return, (Device device, unsigned long long* types))
// clang-format on
