#include "experiments/hosts/simulation/chaos_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/hosts/within.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// As of ProcessHost and SupervisedTenant.
constexpr Duration kHeartbeat = seconds(10);
constexpr Duration kStart = seconds(60);
constexpr Duration kSettle = seconds(5);
constexpr Duration kLeave = seconds(2);
constexpr Duration kClosed = seconds(1);
constexpr Duration kLook = milliseconds(200);  // Between looks at how it behaves.
constexpr int kLooks = 3;                      // So many looks must see more threads than cores.
constexpr const char* kKilled = "was killed by signal 9";

}  // namespace

ChaosModel::ChaosModel(const TenantSpec& spec, const Job& job, Split threads,
                       Duration revocation_deadline, CpuSet machine)
    : plan_(PlanChaos(spec)),
      malleable_(job.elasticity == Elasticity::kMalleable),
      greedy_threads_(2 * std::max({job.request.max, threads.inter, threads.intra, 1})),
      revocation_deadline_(revocation_deadline),
      machine_(std::move(machine)) {}

std::optional<ChaosModel::End> ChaosModel::AtStart() const {
  if (Is("dies-before-hello")) return End{{}, std::string(kKilled) + " before it said hello"};
  if (Is("mute")) return End{kStart, "did not say hello" + Within(kStart)};
  return std::nullopt;
}

std::optional<ChaosModel::End> ChaosModel::Misbehave(const CpuSet& cores) {
  if (std::exchange(misbehaved_, true)) return std::nullopt;
  Random random = plan_.random;
  if (Is("hangs")) return End{kHeartbeat, "gave no heartbeat" + Within(kHeartbeat)};
  if (Is("floods")) return End{{}, "floods its control socket"};
  if (Is("garbage")) return End{{}, "sent a message that can't be read"};
  if (Is("oversized")) return End{{}, "sent an oversized message"};
  if (Is("scribbles")) return End{{}, "wrote nonsense into its counters"};
  if (Is("lies")) return End{{}, "settled a grant that was never made"};
  if (Is("exits")) return End{{}, fmt::format("exited with status {}", random.Below(256))};
  if (Is("crashes")) {
    constexpr auto& kSignals = kChaosSignals;
    return End{{},
               fmt::format("was killed by signal {}", kSignals[random.Below(std::size(kSignals))])};
  }
  if (Is("closes")) return End{kClosed, "closed its control socket"};
  if (Is("forks") && random.Below(2) == 0) return End{{}, "exited with status 0"};
  if (Is("refuses") && cores != machine_ && !cores.Empty()) {
    return End{kLook, fmt::format("has a compute thread on cores {}, outside its grant of {}",
                                  machine_.ToString(), cores.ToString())};
  }
  if (Is("greedy") && malleable_ && greedy_threads_ > cores.Count()) {
    return End{kLooks * kLook,
               fmt::format("runs {} compute threads on {} cores", greedy_threads_, cores.Count())};
  }
  return std::nullopt;
}

std::optional<ChaosModel::End> ChaosModel::Move(const CpuSet& leaves) {
  if (malleable_ && Is("dies-in-grant")) return End{{}, kKilled};
  misbehaved_ = misbehaved_ || Is("refuses");
  if (Follows()) return std::nullopt;
  if (!leaves.Empty()) {
    return End{revocation_deadline_,
               "did not leave cores " + leaves.ToString() + Within(revocation_deadline_)};
  }
  return End{kSettle, "did not follow its grant" + Within(kSettle)};
}

bool ChaosModel::Follows() const {
  if (Is("refuses")) return !misbehaved_;
  if (!malleable_) return true;  // A tenant that is not malleable is moved from outside.
  return !Is("deaf") && !(Is("hangs") && misbehaved_);
}

bool ChaosModel::Computes() const { return !(Is("hangs") && misbehaved_); }

int ChaosModel::Threads(int awake) const {
  return Is("greedy") && misbehaved_ && awake > 0 ? greedy_threads_ : awake;
}

ChaosModel::End ChaosModel::Finish() {
  Random random = plan_.random;
  if (Is("dies-in-finish") && random.Below(2) == 0) return {{}, kKilled};
  return {Is("stays") ? kLeave : Duration::zero(), ""};
}

}  // namespace cosched
