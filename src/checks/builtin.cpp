// SPDX-License-Identifier: Apache-2.0
#include "checks/builtin.hpp"

#include <array>

namespace autopilot::checks {

std::span<const Check> builtin_checks() {
  static const std::array checks = {
      kGpuPresent,            //
      kGpuDriver,             //
      kGpuRowRemap,           //
      kGpuEcc,                //
      kGpuThrottle,           //
      kGpuTemperature,        //
      kGpuPcieLink,           //
      kGpuNvlink,             //
      kGpuFabric,             //
      kGpuPower,              //
      kGpuPersistence,        //
      kGpuInforom,            //
      kGpuClocks,             //
      kGpuProcesses,          //
      kGpuXid,                //
      kGpuAmdgpuErrors,       //
      kGpuDiagnosis,          //
      kGpuDcgm,               //
      kGpuPcieBandwidth,      //
      kGpuMemoryBandwidth,    //
      kGpuCompute,            //
      kGpuMemoryTest,         //
      kGpuSdc,                //
      kGpuP2p,                //
      kGpuNcclAllreduce,      //
      kNetworkIbPort,         //
      kNetworkRdmaCounters,   //
      kNetworkEfa,            //
      kNetworkEthernetLink,   //
      kNetworkOptics,         //
      kNetworkBond,           //
      kNetworkAdapter,        //
      kNetworkReachability,   //
      kNetworkDns,            //
      kNetworkPing,           //
      kNetworkBandwidth,      //
      kNetworkRdmaBandwidth,  //
      kNetworkRdmaGpu,        //
      kNetworkRdmaLoopback,   //
      kNetworkNcclAllreduce,  //
      kNetworkNcclGroup,      //
      kStorageFilesystem,     //
      kStorageFsErrors,       //
      kStorageNvme,           //
      kStorageBlock,          //
      kStorageRaid,           //
      kStorageNfs,            //
      kStoragePvc,            //
      kHostMemory,            //
      kHostLockups,           //
      kHostKernel,            //
      kHostHungTasks,         //
      kHostMachineCheck,      //
      kHostLimits,            //
      kHostCpu,               //
      kHostReboot,            //
      kHostPcie,              //
      kHostPressure,          //
      kHostClock,             //
  };
  return checks;
}

const Check* find_check(std::string_view id) {
  for (const Check& check : builtin_checks())
    if (check.info.id == id) return &check;
  return nullptr;
}

}  // namespace autopilot::checks
