// SPDX-License-Identifier: Apache-2.0
// All kernels of one feature level. tools/kernels/generate.py makes ptx/sm_*.ptx from it.
#include "probes/gpu/kernels/canary.hpp"
#include "probes/gpu/kernels/gemm_f64.hpp"
#include "probes/gpu/kernels/memory.hpp"
#if __CUDA_ARCH__ >= 800
#include "probes/gpu/kernels/gemm_bf16.hpp"
#endif
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#include "probes/gpu/kernels/gemm_bf16_wgmma.hpp"
#endif
