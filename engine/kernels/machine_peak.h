#pragma once
// What this machine can compute at most, measured: the speed of oneDNN's best large convolution or
// matrix product, in the layouts it likes best, on a session's threads. The yardstick of the
// engine's benchmark; theoretical peaks say nothing of a shared machine's clock. Called on a worker
// of pools.inter().

#include <chrono>

#include "engine/pool/thread_pools.h"

namespace cosched {

// Floating-point operations a second. Tries several shapes for about this time in all, in turns,
// and takes the best turn: a disturbed one says less than is possible.
double MeasurePeakFlops(ThreadPools& pools, std::chrono::duration<double> time);

}  // namespace cosched
