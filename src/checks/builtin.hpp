// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checks/check.hpp"

namespace autopilot::checks {

// One for each file of a check; builtin.cpp puts them in order.
extern const Check kGpuPresent;
extern const Check kGpuDriver;
extern const Check kGpuRowRemap;
extern const Check kGpuEcc;
extern const Check kGpuThrottle;
extern const Check kGpuTemperature;
extern const Check kGpuPcieLink;
extern const Check kGpuNvlink;
extern const Check kGpuFabric;
extern const Check kGpuPower;
extern const Check kGpuPersistence;
extern const Check kGpuInforom;
extern const Check kGpuClocks;
extern const Check kGpuProcesses;
extern const Check kGpuXid;
extern const Check kGpuAmdgpuErrors;
extern const Check kGpuDiagnosis;
extern const Check kGpuDcgm;
extern const Check kGpuPcieBandwidth;
extern const Check kGpuMemoryBandwidth;
extern const Check kGpuCompute;
extern const Check kGpuMemoryTest;
extern const Check kGpuSdc;
extern const Check kGpuP2p;
extern const Check kGpuNcclAllreduce;
extern const Check kNetworkIbPort;
extern const Check kNetworkRdmaCounters;
extern const Check kNetworkEfa;
extern const Check kNetworkEthernetLink;
extern const Check kNetworkOptics;
extern const Check kNetworkBond;
extern const Check kNetworkAdapter;
extern const Check kNetworkReachability;
extern const Check kNetworkDns;
extern const Check kNetworkPing;
extern const Check kNetworkBandwidth;
extern const Check kNetworkRdmaBandwidth;
extern const Check kNetworkRdmaGpu;
extern const Check kNetworkRdmaLoopback;
extern const Check kNetworkNcclAllreduce;
extern const Check kNetworkNcclGroup;
extern const Check kStorageFilesystem;
extern const Check kStorageFsErrors;
extern const Check kStorageNvme;
extern const Check kStorageBlock;
extern const Check kStorageRaid;
extern const Check kStorageNfs;
extern const Check kStoragePvc;
extern const Check kHostMemory;
extern const Check kHostLockups;
extern const Check kHostKernel;
extern const Check kHostHungTasks;
extern const Check kHostMachineCheck;
extern const Check kHostLimits;
extern const Check kHostCpu;
extern const Check kHostReboot;
extern const Check kHostPcie;
extern const Check kHostPressure;
extern const Check kHostClock;

}  // namespace autopilot::checks
