#include "policies/job.h"

namespace cosched {

std::string_view ToString(JobEnd end) {
  switch (end) {
    case JobEnd::kFinished: return "finished";
    case JobEnd::kFailed: return "failed";
    case JobEnd::kRejected: return "rejected";
    case JobEnd::kCancelled: return "cancelled";
    case JobEnd::kDeclined: return "declined";
  }
  return "";
}

}  // namespace cosched
