#pragma once
// A tenant that runs a program of somebody else's (experiments/tenant/hosted_command.h), in whatever:
// all processes that its own has started are its, and are moved, stopped and counted with it. Made by
// SupervisedTenant; on its host's thread.

#include <memory>

#include "experiments/hosts/tenant_launcher.h"

namespace cosched {

std::unique_ptr<LaunchedTenant> WithDescendants(std::unique_ptr<LaunchedTenant> tenant);

}  // namespace cosched
