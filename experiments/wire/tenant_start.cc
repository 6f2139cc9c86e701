#include "experiments/wire/tenant_start.h"

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "experiments/wire/member_json.h"

namespace cosched {

template <member_json::Of<TenantStart> Start, typename Visitor>
void VisitMembers(Start& start, const Visitor& member) {
  auto& [job, elasticity, capacity, cores, threads, client, unbound, spec] = start;
  member("job", job);
  member("elasticity", elasticity);
  member("capacity", capacity);
  member("cores", cores);
  member("inter", threads.inter);
  member("threads", threads.intra);
  member("client", client);
  member("unbound", unbound);
  VisitMembers(spec, member);
}

std::string Encode(const TenantStart& start) { return member_json::WriteMembers(start).dump(); }

TenantStart ParseTenantStart(const std::string& text) {
  const auto refuse = [](const std::string& problem) {
    throw InputError({.file = "command line",
                      .key = "--start",
                      .problem = problem,
                      .allowed = "what a host of the same cosched writes"});
  };
  TenantStart start;
  try {
    member_json::ReadMembers(member_json::Json::parse(text, nullptr, /*allow_exceptions=*/false),
                             &start);
  } catch (const member_json::Unreadable& unreadable) {
    refuse(unreadable.what());
  }
  if (start.cores.Empty() || start.capacity < 1 || start.threads.inter < 1 ||
      start.threads.intra < 1)
    refuse("has no core, or no thread");
  return start;
}

}  // namespace cosched
