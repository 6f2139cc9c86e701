#pragma once
// Which call of a pipeline comes next, and what became of each request: gates and credits of all
// levels (Whitlock et al., Pipelined TensorFlow, section 3). Several requests are inside at once and
// never share a batch; one that fails or is cancelled takes nothing from the others. Pure: no
// threads, clock or kernels, so the lanes of a pipeline and the simulator have the same one, and it
// is a value, copied by whoever searches its states. Not thread-safe.
//
// A call is taken by Next(), says what it makes by Emit(), and ends by Finish() or Fail(). Where
// Emit() finds no room it ends by Park() instead, and Next() gives it again when there is room.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/gates/credits.h"
#include "engine/gates/gate.h"
#include "engine/gates/item.h"
#include "engine/gates/pipeline_layout.h"
#include "engine/gates/pipeline_spec.h"

namespace cosched {

enum class LaneKind { kComputes, kWaits };

// What became of a request.
struct PipelineAnswer {
  enum class Status { kDone, kFailed, kCancelled };
  RequestId request = {};
  Status status = Status::kDone;
  std::vector<Payload> payloads = {};  // If done: by ordinal.
  // If failed: the stage, the first item of its batch, and why; if cancelled, only why.
  int stage = -1;
  Ordinal item = {};
  std::string why = {};
  bool bad_input = false;  // Failed for what is wrong with what a person gave it.
};

struct StageSample {
  int64_t batches = 0;  // At its gate, that lack nothing but credits, room or a lane.
  int running = 0;
  int parked = 0;
  int64_t items = 0, bytes = 0;  // At its gate …
  int requests = 0, open = 0;    // … and whose they are.
  int credits = 0;               // Of requests at the gate or on their way; 0: end to end.
  int64_t dropped = 0;           // Items, so far: at its gate and emitted by its calls.
};

class PipelineState {
 public:
  // Throws InputError as PipelineLayout does; whether it can deadlock is for Check() to say.
  explicit PipelineState(const PipelineSpec& spec);

  bool CanAdmit() const;
  RequestId Admit(std::vector<Payload> items);               // REQUIRES: CanAdmit().
  RequestId NextRequest() const { return {next_request_}; }  // What Admit() will give.

  struct Call {
    int64_t id = -1;
    int stage = -1;
    bool resumed = false;    // It was parked: whoever has its stage has its batch, too.
    RequestId request = {};  // The admitted one; the batch's may be a partition of it.
    ItemBatch batch = {};
  };
  // Of the stages that have a batch (or a parked call), a free place, room below and the credit to
  // open it, the one nearest to the egress, so that what is inside goes down before it goes up; of
  // its requests the one opened first. A parked call whose request is no more is given, too: to end.
  std::optional<Call> Next(LaneKind kind);
  // The same of one stage, for whoever cannot make every stage's calls, or begin any.
  std::optional<Call> NextOf(int stage, bool may_begin = true);
  std::optional<Call> BeginOf(int stage);  // No parked one.
  bool HasNext(LaneKind kind) const;       // Whether Next() would give one.
  // False: there is no room below, the payload is left alone, and the call may only Park() or Fail().
  // What is emitted for a request that is no more is dropped.
  bool Emit(int64_t call, Payload&& payload);
  void Park(int64_t call);    // REQUIRES: Emit was refused.
  void Finish(int64_t call);  // REQUIRES: Emit was not refused.
  // Its request fails, and the call is over.
  void Fail(int64_t call, const std::string& why, bool bad_input = false);
  // Nothing if it has ended already.
  void Cancel(RequestId request, const std::string& why);
  bool Cancelled(int64_t call) const;  // Or failed: nobody waits for what it makes.

  // Of the requests that ended since the last time, in the order of that; each once. One that failed
  // or was cancelled ends, and gives its credits back, when the last of its calls is over.
  std::vector<PipelineAnswer> TakeAnswers();
  // Credits of each link between the ingress and the egress. REQUIRES: 1 to open_max.
  void SetOpenRequests(int count);

  int OpenRequests() const { return open_; }
  int Requests() const { return static_cast<int>(records_.size()); }  // Partitions, too.
  std::vector<StageSample> Sample() const;                            // By stage.
  const Gate& GateAt(int index) const { return gates_[static_cast<size_t>(index)]; }
  const Credits& LinkAt(int index) const { return links_[static_cast<size_t>(index)]; }
  const PipelineLayout& Layout() const { return *layout_; }
  struct CallView {
    int64_t id = -1;
    int stage = -1;
    RequestId request = {};                               // The admitted one.
    bool refused = false, parked = false, ended = false;  // Ended: its request is no more.
    int64_t emitted = 0;
  };
  std::vector<CallView> Calls() const;  // In the order in which they were first taken.
  void CheckInvariants() const;
  // Equal for states that behave alike from now on, whatever numbers their calls have.
  uint64_t Fingerprint() const;

 private:
  // Of one request at one stage of its level, or at the last stage before a gate of its level.
  struct Passage {
    int calls = 0;        // Running or parked; partitions that have not ended, where it makes some.
    int owed = 0;         // Calls that are sure to emit one item more.
    int64_t batches = 0;  // Taken.
    int64_t numbered = 0;  // Items that its own calls emitted.
    int64_t emitted = 0;   // Items put into the gate below.
    bool closed = false;   // At the gate: no more batches.
  };
  // A request, or a partition of one.
  struct Record {
    RequestId id, parent, admitted;
    int level = 0;
    int64_t index = 0;  // Of a partition, among its parent's.
    bool over = false;  // Failed or cancelled, but calls are still to end. Of admitted ones.
    int calls = 0;      // Of admitted ones: running or parked, partitions' too.
    std::vector<Passage> passages;  // By stage.
    std::vector<bool> holds;        // By link.
    Passage& At(int stage) { return passages[static_cast<size_t>(stage)]; }
    const Passage& At(int stage) const { return passages[static_cast<size_t>(stage)]; }
  };
  struct CallRecord {
    int64_t id = -1;
    int stage = -1;
    RequestId request = {};
    Ordinal first = {},
            base = {};  // Of its batch's first item; what its own items' ordinals begin with.
    int64_t emitted = 0;
    int64_t refused = -1;  // Bytes of what found no room.
    bool parked = false;
  };

  const Record& Find(RequestId id) const;
  Record& Find(RequestId id);
  CallRecord& FindCall(int64_t id);
  const CallRecord& FindCall(int64_t id) const;
  bool IsOver(const Record& record) const { return Find(record.admitted).over; }
  Gate& At(int gate) { return gates_[static_cast<size_t>(gate)]; }
  Record& Add(RequestId parent, int level);
  void TakeCredit(int link, Record* record);
  void ReturnCredit(int link, Record* record);

  const Record& TargetOf(const Record& record, int gate) const;
  Ordinal Below(const Record& record, int gate, Ordinal ordinal) const;
  Ordinal NextOrdinal(const CallRecord& call) const;
  bool HasRoom(const CallRecord& call, int64_t bytes) const;
  bool MayTake(int stage, RequestId request, const Ordinal& first) const;
  int Occupied(int stage) const;
  const CallRecord* Resumable(int stage) const;  // The first one; null: none.
  Call Resume(int64_t id);
  std::optional<RequestId> Startable(int stage) const;  // Whose batch is next there.
  Call Start(int stage, RequestId request);

  void Closed(int gate, RequestId id);
  void Conclude(RequestId id, int stage);
  void Tell(int gate, RequestId id, int64_t count);
  void EndPartition(RequestId id);
  void EndCall(int64_t id);
  void EndDone(RequestId id);
  void EndEarly(RequestId admitted, PipelineAnswer answer);
  void EndIfQuiet(RequestId admitted);
  void Settle();

  void CheckLinks() const;
  void CheckCalls() const;
  bool ShouldHold(const Record& record, int link) const;

  std::shared_ptr<const PipelineLayout> layout_;  // Shared by copies.
  std::vector<Gate> gates_;                       // By stage, then the egress.
  std::vector<Credits> links_;
  std::vector<Record> records_;          // By id.
  std::vector<CallRecord> calls_;        // By id.
  std::vector<PipelineAnswer> endings_;  // Of requests that are over, until their calls are.
  std::vector<PipelineAnswer> answers_;
  std::vector<int64_t> dropped_;  // By stage: emitted for requests that are no more.
  int open_ = 1;
  int64_t next_request_ = 0;
  int64_t next_call_ = 0;
};

}  // namespace cosched
