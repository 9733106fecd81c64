// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// For tests: answers of RAS in the shape that NCCL prints.
namespace autopilot::host {

struct SampleRank {
  int rank = 0;
  std::int64_t pid = 0;
  std::int64_t started = 0;
  std::string host = "10.0.0.1";
  int device = 0;
};

struct SampleCommunicator {
  std::string hash = "0x6f1c";
  int size = 0;
  std::vector<SampleRank> ranks;
  std::vector<SampleRank> missing;  // unresponsive; dead if `started` is not 0
  bool is_aborted = false;
};

// `comma`: what stands between nvml_dev and status of a missing rank; NCCL 2.28.9 has nothing there.
inline std::string sample_json(const std::vector<SampleCommunicator>& communicators,
                               const std::string& comma = ",") {
  std::string text =
      "{\n  \"nccl_version\": \"2.28.9\",\n  \"cuda_runtime_version\": 13000,\n"
      "  \"cuda_driver_version\": 13000,\n  \"timestamp\": \"2026-11-29 10:00:00\",\n"
      "  \"communicators_count\": " +
      std::to_string(communicators.size()) + ",\n  \"communicators\": [\n";
  const auto place = [](const SampleRank& one) {
    return "        {\n          \"rank\": " + std::to_string(one.rank) + ",\n          \"host\": \"" +
           one.host + "\",\n          \"pid\": " + std::to_string(one.pid) +
           ",\n          \"cuda_dev\": " + std::to_string(one.device) +
           ",\n          \"nvml_dev\": " + std::to_string(one.device);
  };
  for (std::size_t i = 0; i < communicators.size(); ++i) {
    const SampleCommunicator& one = communicators[i];
    text += (i == 0 ? "" : ",\n");
    text += "    {\n      \"hash\": \"" + one.hash +
            "\",\n      \"secondary_hash\": \"0xb7e7:0xb824\",\n      \"size\": " + std::to_string(one.size) +
            ",\n      \"ranks_count\": " + std::to_string(one.ranks.size()) +
            ",\n      \"missing_ranks_count\": " + std::to_string(one.missing.size()) +
            ",\n      \"ranks\": [\n";
    for (std::size_t rank = 0; rank < one.ranks.size(); ++rank)
      text += (rank == 0 ? "" : ",\n") + place(one.ranks[rank]) +
              ",\n          \"status\": {\n            \"init_state\": 0,\n            \"async_error\": 0,\n"
              "            \"finalize_called\": false,\n            \"destroy_flag\": false,\n"
              "            \"abort_flag\": " +
              (one.is_aborted ? "true" : "false") +
              "\n          },\n          \"collective_counts\": {\n            \"Broadcast\": 2,\n"
              "            \"AllReduce\": " +
              std::to_string(one.ranks[rank].started - 2) + "\n          }\n        }";
    text += "\n      ],\n      \"missing_ranks\": [\n";
    for (std::size_t rank = 0; rank < one.missing.size(); ++rank)
      text += (rank == 0 ? "" : ",\n") + place(one.missing[rank]) + comma +
              "\n          \"status\": {\n            \"unresponsive\": true,\n            "
              "\"considered_dead\": " +
              (one.missing[rank].started != 0 ? "true" : "false") + "\n          }\n        }";
    text += "\n      ]\n    }";
  }
  return text +
         "\n  ],\n  \"ras\": {\n    \"collection_time_sec\": 0.004,\n    \"timeouts_count\": 0\n  }\n}\n";
}

// A job of 8 ranks: rank 5 is two collectives behind.
inline std::string sample_text_mismatch() {
  return "NCCL version 2.26.2 compiled with CUDA 12.6\n"
         "CUDA runtime version 12060, driver version 12060\n\n"
         "Job summary\n===========\n\n"
         "  Nodes  Processes         GPUs  Processes     GPUs\n"
         "(total)   per node  per process    (total)  (total)\n"
         "      2          4            1          8        8\n\n"
         "Communicators... (0.00s)\n=============\n\n"
         "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
         "    #  in group  per comm  per node  per comm  in group\n"
         "    0         1         2         4         8         8   RUNNING  MISMATCH\n"
         "    1         2         1         4         4         8   RUNNING  OK\n\n"
         "Errors\n======\n\n"
         "Warnings\n========\n\n"
         "#0-0 (fa93daea854b060b) MISMATCH\n"
         "  Communicator ranks have different AllReduce operation counts\n"
         "  7 ranks have launched up to operation 640\n"
         "  Rank 5 has launched up to operation 638 -- GPU 1 managed by process 4716 on node 10.0.0.2\n\n";
}

// A job of 8 ranks: the process of rank 7 is dead.
inline std::string sample_text_dead() {
  return "NCCL version 2.24.3 compiled with CUDA 12.6\n"
         "CUDA runtime version 12060, driver version 12060\n\n"
         "Job summary\n===========\n\n"
         "Communicators... (0.00s)\n=============\n\n"
         "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
         "    #  in group  per comm  per node  per comm  in group\n"
         "    0         1         2       3-4         8         7   RUNNING  INCOMPLETE\n\n"
         "Errors\n======\n\n"
         "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
         "  Process 4718 on node 10.0.0.2 managing GPU 3\n\n"
         "#0-0 (fa93daea854b060b) INCOMPLETE\n"
         "  Missing communicator data from 1 rank\n"
         "  Rank 7 -- GPU 3 managed by process 4718 on node 10.0.0.2\n\n"
         "Warnings\n========\n\n";
}

}  // namespace autopilot::host
