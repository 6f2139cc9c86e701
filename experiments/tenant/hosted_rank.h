#pragma once
// A rank other than 0 of a tenant that a host started: it makes calls for rank 0, on cores that rank
// 0 gives it (rank_shares.h), and knows nothing of the host. Called by RunHostedTenant.

#include "engine/base/topology.h"
#include "engine/gates/pipeline.h"
#include "engine/gates/rank_link.h"
#include "experiments/wire/tenant_spec.h"
#include "workloads/program_spec.h"

namespace cosched {

// Until rank 0 has no more, or a rank is gone. The process's exit code. `session`: how its networks
// run, and its threads. The link outlives it. REQUIRES: not rank 0.
int ServeHostedRank(RankLink* link, const TenantSpec& spec, const SessionOptions& session,
                    const Topology& topology);

}  // namespace cosched
