#pragma once
// Constants in the layouts that primitives want, each packed once however many kernels read it (the
// sub-networks of several batch sizes share their weights). One a session; kernels look theirs up
// when they are created, on one thread.

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace cosched {

class PackedConstants {
 public:
  // A backend's packed constant.
  class Entry {
   public:
    virtual ~Entry() = default;
  };

  // The entry for the constant at this address in this layout (any bytes that describe it); null
  // where it has to be made, and then set.
  std::shared_ptr<Entry>& At(const void* constant, const std::string& layout) {
    return entries_[{constant, layout}];
  }

 private:
  std::map<std::pair<const void*, std::string>, std::shared_ptr<Entry>> entries_;
};

}  // namespace cosched
