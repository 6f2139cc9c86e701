#pragma once
// What a calibration must say of itself: how well the models fit what they were fitted to and what
// they were not, how far intervals leave a prediction open, and how the machine drifted meanwhile.
// Pure; called by FitProfile when the profile is complete but for its notes.

#include <vector>

#include "experiments/calibration/fit.h"

namespace cosched {

void AddCalibrationNotes(const std::vector<Series>& all, Profile* profile);

}  // namespace cosched
