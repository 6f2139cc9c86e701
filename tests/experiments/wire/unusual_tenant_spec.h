#pragma once
// A tenant's specification of which no member has its default: what travels between processes is
// tried with it.

#include <chrono>

#include "experiments/wire/tenant_spec.h"

namespace cosched {

inline PipelineChoice UnusualPipeline() {
  const OpenRequests open = {CreditLink::kEndToEnd, 2, 3};
  return {.application = "increment",
          .open = open,
          .ranks = 3,
          .increment = {open, 4, 9, Duration(6), Duration(7), 2, Duration(8), 5},
          .align_sort = {.reference = "genome.fa",
                         .reads = {{"one.fq", "two.fq"}},
                         .out = "sorted.bam",
                         .chunk_reads = 11,
                         .open = open,
                         .threads = 2,
                         .compression = 1,
                         .memory_mib = 12,
                         .spill_folder = "/spill"},
          .classify = {.model = "resnet50",
                       .parts = 3,
                       .images = "/images",
                       .items = 13,
                       .batch = 14,
                       .seed = 15,
                       .weights_file = "w.weights",
                       .open = open,
                       .threads = 2}};
}

inline TenantSpec UnusualTenantSpec() {
  TenantSpec spec;
  spec.steps = int64_t{1} << 40;
  spec.serves = true;
  spec.max_delay = std::chrono::microseconds(1500);
  spec.pipeline = UnusualPipeline();
  spec.command = {.arguments = {"sh", "-c", "é \"x\""},
                  .environment = {"A=b=c"},
                  .folder = "/a folder",
                  .progress = {ProgressSource::Kind::kOutput, "^step: (\\d+)"},
                  .client = CommandClient::kOpenMp,
                  .preload = "/lib/x.so",
                  .mounts = {"/home/é, x", "/etc/y"}};
  spec.model = "a \"model\".onnx";
  spec.mode = Mode::kInfer;
  spec.dataset = "mnist";
  spec.data_directory = "/data/é, with blanks";
  spec.batch = 5;
  spec.seed = uint64_t{1} << 60;
  spec.precision = Precision::kBFloat16;
  spec.deterministic = false;
  spec.auto_split = true;
  spec.rates.lanes = 4;
  spec.spin = std::chrono::nanoseconds(7001);
  return spec;
}

}  // namespace cosched
