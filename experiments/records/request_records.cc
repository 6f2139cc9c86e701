#include "experiments/records/request_records.h"

namespace cosched {

void RequestRecords::Begin() { Opened(&requests_); }

void RequestRecords::Write(const RequestRecord& request) {
  if (!requests_) return;
  RequestRow row{.request_id = request.id,
                 .service = request.service,
                 .scheduled = request.scheduled,
                 .sent = request.sent,
                 .work = request.work,
                 .state = "dropped",
                 .device = request.device};
  if (request.job) row.job_id = request.job->value;
  if (request.dispatched) row.dispatched = *request.dispatched;
  if (request.slo) row.slo_ms = ToSeconds(*request.slo) * 1e3;
  if (request.answer && request.answer->failed) {
    row.state = "failed";
  } else if (const RequestSample* answer = request.answer) {
    row.received = answer->received;
    row.started = answer->started;
    row.finished = answer->finished;
    row.batch = answer->batch;
    row.state = "served";
  }
  requests_->Write(row);
}

void RequestRecords::Write(const HoldSample& hold, std::string_view device,
                           std::string_view service) {
  Opened(&devices_).Write({.device = device,
                           .slot = hold.slot,
                           .service = service,
                           .batch = hold.batch,
                           .begin = hold.begin,
                           .end = hold.end,
                           .planned_end = hold.planned_end});
}

void RequestRecords::WriteObjective(TimePoint time, std::string_view service, Duration objective,
                                    Duration window) {
  Opened(&objectives_)
      .Write({.time = time,
              .service = service,
              .sla_ms = ToSeconds(objective) * 1e3,
              .window_s = ToSeconds(window)});
}

void RequestRecords::Sync() {
  if (requests_) requests_->Sync();
  if (devices_) devices_->Sync();
  if (objectives_) objectives_->Sync();
}

}  // namespace cosched
