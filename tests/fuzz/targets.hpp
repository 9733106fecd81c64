// SPDX-License-Identifier: Apache-2.0
// The fuzz targets of the program autopilot_fuzz. Each takes whatever bytes come, aborts where a promise is
// broken, and returns 0. x_fuzz is in x_fuzz.cpp; its seeds lie in corpus/x_fuzz/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace autopilot {

namespace admission_review_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace backfill_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace call_trace_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace catalog_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace certificate_request_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace compare_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace config_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace decode_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace deep_test_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace dns_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace drift_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace duration_and_time_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace fault_trace_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace flight_dump_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace frame_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace gpu_probe_report_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace gpu_report_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace heartbeat_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace history_records_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace http_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace ibm_status_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace iperf_result_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace job_batch_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace job_memory_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace job_records_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace jobs_v1_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace journal_boots_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace journal_mark_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace json_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace kmsg_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace kube_objects_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace kubeconfig_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace kubectl_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace launch_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace learned_version_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace machine_kind_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace migrate_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace module_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace nccl_report_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace node_report_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace peers_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace perftest_result_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace pod_resources_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace preflight_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace program_log_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace prometheus_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace ras_answer_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace remediation_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace scenario_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace scrub_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace slurm_node_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}
namespace step_lines_fuzz {
int run(const std::uint8_t* data, std::size_t size);
}

struct FuzzTarget {
  std::string_view name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};

inline constexpr std::array kFuzzTargets{
    FuzzTarget{"admission_review_fuzz", admission_review_fuzz::run},
    FuzzTarget{"backfill_fuzz", backfill_fuzz::run},
    FuzzTarget{"call_trace_fuzz", call_trace_fuzz::run},
    FuzzTarget{"catalog_fuzz", catalog_fuzz::run},
    FuzzTarget{"certificate_request_fuzz", certificate_request_fuzz::run},
    FuzzTarget{"compare_fuzz", compare_fuzz::run},
    FuzzTarget{"config_fuzz", config_fuzz::run},
    FuzzTarget{"decode_fuzz", decode_fuzz::run},
    FuzzTarget{"deep_test_fuzz", deep_test_fuzz::run},
    FuzzTarget{"dns_fuzz", dns_fuzz::run},
    FuzzTarget{"drift_fuzz", drift_fuzz::run},
    FuzzTarget{"duration_and_time_fuzz", duration_and_time_fuzz::run},
    FuzzTarget{"fault_trace_fuzz", fault_trace_fuzz::run},
    FuzzTarget{"flight_dump_fuzz", flight_dump_fuzz::run},
    FuzzTarget{"frame_fuzz", frame_fuzz::run},
    FuzzTarget{"gpu_probe_report_fuzz", gpu_probe_report_fuzz::run},
    FuzzTarget{"gpu_report_fuzz", gpu_report_fuzz::run},
    FuzzTarget{"heartbeat_fuzz", heartbeat_fuzz::run},
    FuzzTarget{"history_records_fuzz", history_records_fuzz::run},
    FuzzTarget{"http_fuzz", http_fuzz::run},
    FuzzTarget{"ibm_status_fuzz", ibm_status_fuzz::run},
    FuzzTarget{"iperf_result_fuzz", iperf_result_fuzz::run},
    FuzzTarget{"job_batch_fuzz", job_batch_fuzz::run},
    FuzzTarget{"job_memory_fuzz", job_memory_fuzz::run},
    FuzzTarget{"job_records_fuzz", job_records_fuzz::run},
    FuzzTarget{"jobs_v1_fuzz", jobs_v1_fuzz::run},
    FuzzTarget{"journal_boots_fuzz", journal_boots_fuzz::run},
    FuzzTarget{"journal_mark_fuzz", journal_mark_fuzz::run},
    FuzzTarget{"json_fuzz", json_fuzz::run},
    FuzzTarget{"kmsg_fuzz", kmsg_fuzz::run},
    FuzzTarget{"kube_objects_fuzz", kube_objects_fuzz::run},
    FuzzTarget{"kubeconfig_fuzz", kubeconfig_fuzz::run},
    FuzzTarget{"kubectl_fuzz", kubectl_fuzz::run},
    FuzzTarget{"launch_fuzz", launch_fuzz::run},
    FuzzTarget{"learned_version_fuzz", learned_version_fuzz::run},
    FuzzTarget{"machine_kind_fuzz", machine_kind_fuzz::run},
    FuzzTarget{"migrate_fuzz", migrate_fuzz::run},
    FuzzTarget{"module_fuzz", module_fuzz::run},
    FuzzTarget{"nccl_report_fuzz", nccl_report_fuzz::run},
    FuzzTarget{"node_report_fuzz", node_report_fuzz::run},
    FuzzTarget{"peers_fuzz", peers_fuzz::run},
    FuzzTarget{"perftest_result_fuzz", perftest_result_fuzz::run},
    FuzzTarget{"pod_resources_fuzz", pod_resources_fuzz::run},
    FuzzTarget{"preflight_fuzz", preflight_fuzz::run},
    FuzzTarget{"program_log_fuzz", program_log_fuzz::run},
    FuzzTarget{"prometheus_fuzz", prometheus_fuzz::run},
    FuzzTarget{"ras_answer_fuzz", ras_answer_fuzz::run},
    FuzzTarget{"remediation_fuzz", remediation_fuzz::run},
    FuzzTarget{"scenario_fuzz", scenario_fuzz::run},
    FuzzTarget{"scrub_fuzz", scrub_fuzz::run},
    FuzzTarget{"slurm_node_fuzz", slurm_node_fuzz::run},
    FuzzTarget{"step_lines_fuzz", step_lines_fuzz::run},
};

}  // namespace autopilot
