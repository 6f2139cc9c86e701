#pragma once
// The control thread knows some threads for as long as this lives, however the work ends. Made on the
// thread that works.

#include "experiments/tenant/control_thread.h"

namespace cosched {

class Attachment {
 public:
  // Both outlive it.
  Attachment(ControlThread* control, SteeredThreads* threads) : control_(control) {
    control_->Attach(threads);
  }
  ~Attachment() { control_->Detach(); }
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

 private:
  ControlThread* const control_;
};

}  // namespace cosched
