#pragma once
// How many requests may be between two gates, or between a pipeline's ingress and its egress: a
// request takes a credit when it is opened before them and gives it back behind them (Whitlock et
// al., Pipelined TensorFlow, section 3). Called by PipelineState. Pure; not thread-safe.

namespace cosched {

class Credits {
 public:
  explicit Credits(int capacity);  // REQUIRES: >= 1.

  int Capacity() const { return capacity_; }
  int Out() const { return out_; }
  int Left() const;  // 0 while more are out than a lowered capacity.
  void Take();       // REQUIRES: Left() > 0.
  void Return();     // REQUIRES: Out() > 0.
  // Revokes nothing: a lower capacity gives none until enough came back. REQUIRES: >= 1.
  void SetCapacity(int capacity);

 private:
  int capacity_ = 1;
  int out_ = 0;
};

}  // namespace cosched
