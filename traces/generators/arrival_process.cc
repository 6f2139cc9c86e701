#include "traces/generators/arrival_process.h"

namespace cosched {

// Each has a .cc of its own.
std::unique_ptr<ArrivalProcess> MakeRenewal(const RenewalSpec& spec, const Random& random);
std::unique_ptr<ArrivalProcess> MakeMmpp(const MmppSpec& spec, const Random& random);
std::unique_ptr<ArrivalProcess> MakeDiurnal(const DiurnalSpec& spec, const Random& random);
std::unique_ptr<ArrivalProcess> MakeBursts(const BurstsSpec& spec, const Random& random);
std::unique_ptr<ArrivalProcess> MakeClosedLoop(const ClosedLoopSpec& spec, const Random& random);
std::unique_ptr<ArrivalProcess> MakeLoadGen(const LoadGenSpec& spec, const Random& random);

std::unique_ptr<ArrivalProcess> MakeProcess(const ProcessSpec& spec, const Random& random) {
  struct Maker {
    const Random& random;
    auto operator()(const RenewalSpec& of) const { return MakeRenewal(of, random); }
    auto operator()(const MmppSpec& of) const { return MakeMmpp(of, random); }
    auto operator()(const DiurnalSpec& of) const { return MakeDiurnal(of, random); }
    auto operator()(const BurstsSpec& of) const { return MakeBursts(of, random); }
    auto operator()(const ClosedLoopSpec& of) const { return MakeClosedLoop(of, random); }
    auto operator()(const LoadGenSpec& of) const { return MakeLoadGen(of, random); }
  };
  return std::visit(Maker{random}, spec);
}

}  // namespace cosched
