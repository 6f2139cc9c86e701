#pragma once
// cosched tenant: one CNN program. By a person: with a progress bar, resized at chosen steps (the
// proof of concept of Libutti et al. 2020). By a host: with hidden options, under its control
// (experiments/tenant/hosted_tenant.h).

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddTenantCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
